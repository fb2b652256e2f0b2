/** A setting is one value of one key, with its origin. Files, variables and flags all become settings. */

/** A key as its parts. A part may hold dots, because a column's name may. */
export type Key = readonly string[];

/** The variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Origin {
  /** For people: `nightly.yaml:12`, `--set`, `FOLIOPIPE_CHUNKS__MAX_RECORDS`. */
  readonly label: string;
  /** Absolute base folder of relative paths. */
  readonly baseDir: string;
}

export interface Setting {
  readonly key: Key;
  readonly value: unknown;
  readonly origin: Origin | undefined;
}

/** Nested maps made from settings. */
export interface Tree {
  [name: string]: unknown;
}

/** Splits nested maps into settings, so that maps are merged and other values replaced. An empty map is a setting too. */
export function toSettings(value: unknown, key: Key, originOf: (key: Key) => Origin | undefined): Setting[] {
  if (value === undefined) return [];
  if (!isMap(value) || key.length === MAX_PARTS) return [{ key, value, origin: originOf(key) }];
  const entries = Object.entries(value);
  if (entries.length === 0) return [{ key, value: {}, origin: originOf(key) }];
  return entries.flatMap(([part, inner]) => toSettings(inner, [...key, part], originOf));
}

/** No key of the config has more parts. Deeper maps are not read, because a map may contain itself. */
const MAX_PARTS = 4;

/** The settings that are not replaced by a later setting of the same key or of a map that contains it. */
export function effectiveSettings(settings: readonly Setting[]): Setting[] {
  return settings.filter(
    (setting, index) => !settings.slice(index + 1).some(({ key }) => isUnder(setting.key, key)),
  );
}

/** Joins effective settings into maps. Keeps a value where a map is expected, so that the schema rejects it. */
export function toTree(settings: readonly Setting[]): Tree {
  const tree: Tree = {};
  for (const { key, value } of settings) {
    let map: unknown = tree;
    for (const part of key.slice(0, -1)) {
      if (!isMap(map)) break;
      if (!Object.hasOwn(map, part)) map[part] = {};
      map = map[part];
    }
    const last = key.at(-1);
    if (isMap(map) && last !== undefined) map[last] = value;
  }
  return tree;
}

/** Whether a value is a map of keys, not a list or an instance of a class. */
export function isMap(value: unknown): value is Tree {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether `key` is `start`, or lies under it. */
export function isUnder(key: Key, start: Key): boolean {
  return start.length <= key.length && start.every((part, index) => part === key[index]);
}
