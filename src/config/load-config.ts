/** The config of the command line: files, over them the environment, over that the flags. */
import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { crossCheck, findNotYet } from './cross-checks.js';
import { environmentSettings, interpolate, withToken } from './env-settings.js';
import { readFailure, readSettings } from './file-settings.js';
import { keysOf } from './known-keys.js';
import { type Override, overrideSettings, scalarValue } from './override-settings.js';
import { parseSections } from './parse-sections.js';
import { Problems } from './problems.js';
import type { Config, ParsedConfig, ServiceConfig } from './schema.js';
import { Secret } from './secret.js';
import { effectiveSettings, isUnder, type Key, type Setting, toSettings, toTree } from './settings.js';

export interface LoadOptions {
  /** YAML files; of two that set the same key the later wins. Maps merge, lists are replaced. */
  readonly files: readonly string[];
  /** For `${VAR}` and for `FOLIOPIPE_<SECTION>__<KEY>`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly overrides: readonly Override[];
  /** Absolute folder to which the files, and the paths in variables, are relative. */
  readonly cwd: string;
}

/**
 * Reads, merges and checks the config. State is kept beside the first file unless the config says where.
 * @throws ConfigError `CONFIG_UNREADABLE` for a file that is not there, `CONFIG_INVALID` with all else that
 * is wrong, each problem with its key and the file and line, variable or flag that it came from.
 */
export async function loadConfig({ files, env, overrides, cwd }: LoadOptions): Promise<Config> {
  const problems = new Problems();
  const fromFiles = await Promise.all(files.map((file) => readSettings(file, cwd, problems)));
  problems.throwIfAny();
  const settings = [
    ...fromFiles.flat(),
    ...environmentSettings(env, cwd, problems),
    ...overrideSettings(overrides, problems),
  ];
  const baseDir = files[0] === undefined ? cwd : dirname(resolve(cwd, files[0]));
  return settleConfig(settings, { env, baseDir }, problems);
}

// The config of a program that embeds foliopipe: an object in place of files, and no environment.

/**
 * Checks a plain object as the YAML would give it (durations as texts with a unit, and so on).
 * @param baseDir folder against which relative paths are resolved.
 * @throws ConfigError `CONFIG_INVALID` with every problem at once. `${VAR}` is one of them: a program has
 * the value itself to put there, and `$${` stands for `${`.
 */
export function parseConfig(value: unknown, baseDir: string): Config {
  const absolute = resolve(baseDir);
  const settings = toSettings(value, [], () => undefined);
  return settleConfig(settings, { env: {}, baseDir: absolute }, new Problems());
}

/** The one place that knows the order: merge, put in variables, resolve paths, check all, give the config. */
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
function settleConfig(
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

// Turns the parsed service section into the one that is used: an address with a token, or neither.

/** @returns undefined where a problem was told, here or by a check before. */
function settleService(
  service: ParsedConfig['service'],
  onProblem: (key: string, text: string) => void,
): ServiceConfig | undefined {
  const { embedded, baseUrl, legacyBaseUrl, tokenIn, requestsPerSecond } = service;
  const pace = { tokenIn, requestsPerSecond };
  if (embedded) return { ...pace, embedded, baseUrl: null, legacyBaseUrl: null, token: null };
  const token = service.token ?? (service.tokenFile && readToken(service.tokenFile, onProblem));
  if (!token || baseUrl === null) return undefined;
  return { ...pace, embedded, baseUrl, legacyBaseUrl, token: new Secret(token) };
}

function readToken(path: string, onProblem: (key: string, text: string) => void): string | undefined {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (error) {
    onProblem('service.tokenFile', `${path} cannot be read: ${readFailure(error).words}`);
    return undefined;
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  onProblem('service.tokenFile', `${path} must hold one token of visible ASCII characters and nothing else`);
  return undefined;
}

/** Makes the paths of a config absolute, each against the place where it was written. */
const PATHS: ReadonlySet<string> = new Set(['source.path', 'service.tokenFile', 'output.path', 'stateDir']);

/**
 * Gives the absolute path, or the value as it is where it is no path for us to resolve: empty and `~`
 * paths are left for the schema to refuse. A slash at the end stays, since it says that a folder is meant.
 */
function resolvePath(key: Key, value: unknown, baseDir: string): unknown {
  if (!PATHS.has(key.join('.')) || typeof value !== 'string') return value;
  if (value === '' || value.startsWith('~')) return value;
  return isAbsolute(value) ? normalize(value) : join(baseDir, value);
}
