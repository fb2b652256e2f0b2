/** One value of one key and where it came from: what files, variables and flags are all turned into. */

/** A key as its parts; a part may hold dots, since columns may. */
export type Key = readonly string[];

export interface Origin {
  /** For people: `nightly.yaml:12`, `--set`, `FOLIOPIPE_CHUNKS__MAX_RECORDS`. */
  readonly label: string;
  /** Absolute folder that relative paths are relative to. */
  readonly baseDir: string;
}

export interface Setting {
  readonly key: Key;
  readonly value: unknown;
  readonly origin: Origin | undefined;
}

/** Nested maps as they are made from settings. */
export interface Tree {
  [name: string]: unknown;
}

/** Whether a value is a map of keys, and not a list or an object with a life of its own. */
export function isMap(value: unknown): value is Tree {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether `key` is `start`, or lies under it. */
export function isUnder(key: Key, start: Key): boolean {
  return start.length <= key.length && start.every((part, index) => part === key[index]);
}

/** No key of the config has more parts. What lies deeper is never looked at: it may be a map that holds itself. */
const MOST_PARTS = 4;

/** Takes nested maps apart, so that maps merge and all else replaces. Maps without keys say nothing. */
export function toSettings(value: unknown, key: Key, originOf: (key: Key) => Origin | undefined): Setting[] {
  if (value === undefined) return [];
  if (!isMap(value) || key.length === MOST_PARTS) return [{ key, value, origin: originOf(key) }];
  return Object.entries(value).flatMap(([part, inner]) => toSettings(inner, [...key, part], originOf));
}

/** The settings that hold: those without a later one for the same key, or for a map that it lies in. */
export function effectiveSettings(settings: readonly Setting[]): Setting[] {
  return settings.filter(
    (setting, index) => !settings.slice(index + 1).some((later) => isUnder(setting.key, later.key)),
  );
}

/** Puts effective settings together again. What stands where a map belongs stays, so that it is seen. */
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
