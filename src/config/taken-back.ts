/** Leaves out settings that a later file, variable or flag takes back. */
import { outputFormat } from '../output-format.js';
import { withVariables } from './interpolate.js';
import { keysOf, schemaAt } from './known-keys.js';
import { isMap, isUnder, type Key, type Setting } from './settings.js';

/**
 * Puts layers behind each other. A later `output.path` of another format than Parquet leaves the types of earlier layers
 * out: they belong to the path that it replaces.
 * @param layers the settings of each file, of the environment and of the flags.
 * @param env gives the values for `${VAR}` in the path.
 */
export function joinLayers(
  layers: readonly (readonly Setting[])[],
  env: Readonly<Record<string, string | undefined>>,
): Setting[] {
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

/** Whether a key is a map of free names that may be empty, such as `output.types`: `{}` and null empty it. */
export function isFreeMap(key: Key): boolean {
  return keysOf(key) === undefined && (schemaAt(key)?.safeParse({}).success ?? false);
}

/** A setting that is null in the place of such a map is an empty map. */
export function emptied(setting: Setting): Setting {
  return setting.value === null && isFreeMap(setting.key) ? { ...setting, value: {} } : setting;
}

export function isEmptyMap(value: unknown): boolean {
  return isMap(value) && Object.keys(value).length === 0;
}

/** Leaves out names that a later setting sets to null, such as `output.types.Zip`. A null that takes nothing back stays. */
export function withoutNulled(settings: readonly Setting[]): Setting[] {
  const isNull = ({ key, value }: Setting) => value === null && isFreeMap(key.slice(0, -1));
  return settings.filter((setting, at) => {
    const { key } = setting;
    const isSame = (one: Setting) => one.key.length === key.length && isUnder(one.key, key);
    return isNull(setting)
      ? !settings.slice(0, at).some(isSame)
      : !settings.slice(at + 1).some((one) => isNull(one) && isSame(one));
  });
}
