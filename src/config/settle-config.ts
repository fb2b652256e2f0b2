/** The one place that knows the order: merge, put in variables, resolve paths, check all, give the config. */
import { crossCheck } from './cross-checks.js';
import { withToken } from './env-settings.js';
import { interpolate } from './interpolate.js';
import { keysOf } from './known-keys.js';
import { findNotYet } from './not-yet.js';
import { parseSections } from './parse-sections.js';
import type { Problems } from './problems.js';
import { resolvePath } from './resolve-path.js';
import type { Config, ServiceConfig } from './schema.js';
import { effectiveSettings, isUnder, type Key, type Setting, toTree } from './setting.js';
import { settleService } from './settle-service.js';
import { scalarValue } from './text-value.js';

export interface Surroundings {
  /** Where `${VAR}`, and the token of a config that says nothing of one, are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute folder under which state is kept when the config does not say where. */
  readonly baseDir: string;
}

/** Keys that the embedded service has no use for: not even read, so that a rehearsal needs no token. */
const REAL_SERVICE_KEYS: readonly Key[] = ['baseUrl', 'legacyBaseUrl', 'token', 'tokenFile'].map((key) => [
  'service',
  key,
]);

/**
 * Makes the config of settings, of which later ones win.
 * @param problems what was found wrong before; all that is found here is added.
 * @throws ConfigError `CONFIG_INVALID` with every problem, where there is one.
 */
export function settleConfig(
  settings: readonly Setting[],
  { env, baseDir }: Surroundings,
  problems: Problems,
): Config {
  const stateDir: Setting = { key: ['stateDir'], value: '.foliopipe', origin: undefined };
  const wellNamed = [stateDir, ...settings].filter((setting) => hasKey(setting, problems));
  const written = withoutUnused(withToken(effectiveSettings(wellNamed), env, baseDir), env);
  const originOf = (key: Key) =>
    (settingAt(written, key) ?? written.findLast((setting) => isUnder(setting.key, key)))?.origin?.label;
  const onProblem = (key: Key, text: string) => problems.add(key.join('.'), text, originOf(key));

  const tree = toTree(
    written.map((setting) => {
      const value = withVariables(setting, env, (text) => onProblem(setting.key, text));
      return { ...setting, value: resolvePath(setting.key, value, setting.origin?.baseDir ?? baseDir) };
    }),
  );
  const sections = parseSections(tree, (key) => writtenAt(written, key), onProblem);
  const onKeyProblem = (key: string, text: string) => onProblem(key.split('.'), text);
  crossCheck(sections, onKeyProblem);
  findNotYet(sections, onKeyProblem);
  const service = sections.service && settleService(sections.service, onKeyProblem);
  problems.throwIfAny();
  return { ...(sections as Config), service: service as ServiceConfig };
}

/** False for what cannot be put in a map: a value that stands for the whole config, and `__proto__`. */
function hasKey({ key, value, origin }: Setting, problems: Problems): boolean {
  if (key.includes('__proto__')) problems.add(key.join('.'), 'cannot be a key', origin?.label);
  else if (key.length > 0) return !(value === null && keysOf(key));
  else if (value !== null) problems.add('config', 'expected a map of keys to values', origin?.label);
  return false;
}

function withoutUnused(settings: readonly Setting[], env: Surroundings['env']): readonly Setting[] {
  const embedded = settings.find((setting) => setting.key.join('.') === 'service.embedded');
  if (!embedded || withVariables(embedded, env, () => {}) !== true) return settings;
  return settings.filter(({ key }) => !REAL_SERVICE_KEYS.some((unused) => isUnder(key, unused)));
}

/** Puts variables into a setting's text, or into the texts of its list. */
function withVariables(
  { key, value }: Pick<Setting, 'key' | 'value'>,
  env: Surroundings['env'],
  onProblem: (text: string) => void,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => (typeof item === 'string' ? interpolate(item, env, onProblem) : item));
  }
  if (typeof value !== 'string') return value;
  const text = interpolate(value, env, onProblem);
  return text === value ? value : scalarValue(key, text);
}

/** The setting of a key, or of the map or list that it lies in. */
function settingAt(settings: readonly Setting[], key: Key): Setting | undefined {
  return settings.findLast((setting) => isUnder(key, setting.key));
}

function writtenAt(settings: readonly Setting[], key: Key): unknown {
  const setting = settingAt(settings, key);
  if (!setting) return settings.some((under) => isUnder(under.key, key)) ? {} : undefined;
  return key
    .slice(setting.key.length)
    .reduce<unknown>((value, part) => (Array.isArray(value) ? value[Number(part)] : value), setting.value);
}
