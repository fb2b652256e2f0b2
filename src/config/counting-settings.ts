/** Decides which settings count: a later file, variable or flag may replace a setting or take it back. */
import { outputFormat } from '../output-format.js';
import { withToken } from './env-settings.js';
import { withVariables } from './interpolate.js';
import { accepts, keysOf, takesMap } from './known-keys.js';
import type { Problems } from './problems.js';
import { type Environment, effectiveSettings, isMap, isUnder, type Key, type Setting } from './settings.js';

/**
 * Joins layers in their order. If the last `output.path` is not Parquet, leaves out the `output.types` of earlier layers:
 * they belong to a path that it replaces.
 * @param layers the settings of each file, of the environment and of the flags.
 * @param env gives the values for `${VAR}` in the path.
 */
export function joinLayers(layers: readonly (readonly Setting[])[], env: Environment): Setting[] {
  const last = layers.findLastIndex((layer) => layer.some(isOutputPath));
  const path = layers[last]?.findLast(isOutputPath);
  const value = path && withVariables(path, env, () => undefined);
  if (typeof value !== 'string' || outputFormat(value) === 'parquet') return layers.flat();
  return layers.flatMap((layer, at) =>
    at < last ? layer.filter(({ key }) => !isUnder(key, OUTPUT_TYPES)) : layer,
  );
}

const OUTPUT_TYPES: Key = ['output', 'types'];

function isOutputPath({ key }: Setting): boolean {
  return key.join('.') === 'output.path';
}

/** The settings that are not replaced, taken back or unused. */
export function countingSettings(
  settings: readonly Setting[],
  env: Environment,
  baseDir: string,
  problems: Problems,
): readonly Setting[] {
  const stateDir: Setting = { key: ['stateDir'], value: '.foliopipe', origin: undefined };
  const usable = [stateDir, ...settings].filter((setting) => isUsable(setting, problems));
  const effective = effectiveSettings(withoutNulled(usable.map(emptied))).filter(
    (setting, at, all) => !isFilled(setting, all.slice(at + 1)),
  );
  return withoutUnused(withToken(effective, env, baseDir), env);
}

/** Whether a setting can be put into a map. Reports a value for the whole config, and the key `__proto__`. */
function isUsable({ key, value, origin }: Setting, problems: Problems): boolean {
  if (key.includes('__proto__')) problems.add(key.join('.'), 'cannot be a key', origin?.label);
  else if (value === null && key.length > 0) return !keysOf(key) || accepts(key, null);
  else if (isEmptyMap(value)) return isFreeMap(key) || !takesMap(key);
  else if (key.length > 0) return true;
  else if (value !== null) problems.add('config', 'expected a map of keys to values', origin?.label);
  return false;
}

/** Whether a setting gives null or an empty map, and a later setting gives a key in this map. */
function isFilled({ key, value }: Setting, later: readonly Setting[]): boolean {
  return (
    (value === null || isEmptyMap(value)) &&
    later.some((one) => one.key.length > key.length && isUnder(one.key, key))
  );
}

/** Keys that the embedded service does not use. They are not read, so a rehearsal needs no token. */
const REAL_SERVICE_KEYS: readonly Key[] = ['baseUrl', 'legacyBaseUrl', 'token', 'tokenFile'].map((key) => [
  'service',
  key,
]);

function withoutUnused(settings: readonly Setting[], env: Environment): readonly Setting[] {
  const embedded = settings.find((setting) => setting.key.join('.') === 'service.embedded');
  if (!embedded || withVariables(embedded, env, () => {}) !== true) return settings;
  return settings.filter(({ key }) => !REAL_SERVICE_KEYS.some((unused) => isUnder(key, unused)));
}

/** Whether a key is a map of free names that may be empty, such as `output.types`: `{}` and null empty it. */
function isFreeMap(key: Key): boolean {
  return keysOf(key) === undefined && accepts(key, {});
}

/** Reads null for a map of free names as an empty map. */
function emptied(setting: Setting): Setting {
  return setting.value === null && isFreeMap(setting.key) ? { ...setting, value: {} } : setting;
}

function isEmptyMap(value: unknown): boolean {
  return isMap(value) && Object.keys(value).length === 0;
}

/**
 * Leaves out names that a later setting sets to null, such as `output.types.Zip`. A null that takes nothing back stays.
 */
function withoutNulled(settings: readonly Setting[]): Setting[] {
  const isNull = ({ key, value }: Setting) => value === null && isFreeMap(key.slice(0, -1));
  return settings.filter((setting, at) => {
    const { key } = setting;
    const isSame = (one: Setting) => one.key.length === key.length && isUnder(one.key, key);
    return isNull(setting)
      ? !settings.slice(0, at).some(isSame)
      : !settings.slice(at + 1).some((one) => isNull(one) && isSame(one));
  });
}
