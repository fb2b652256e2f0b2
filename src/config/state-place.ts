/** The place of a state, from a flag or from a few keys of a config: a folder, or the address of a database. */
import { resolve } from 'node:path';
import { ConfigError } from '../errors.js';
import { flagSettings, showsPassword } from './flag-settings.js';
import { interpolate } from './interpolate.js';
import { expectedAt } from './known-keys.js';
import { type LoadOptions, readLayers, settingValue } from './load-config.js';
import { Problems } from './problems.js';
import { DatabaseAddress, isPostgres } from './sections/load-section.js';
import {
  filesSchema,
  resolveState,
  type StatePlace,
  scratchSchema,
  stateSchema,
} from './sections/state-section.js';
import type { Environment, Setting } from './settings.js';

/** How the flag of a command names a state. */
export interface PlaceOptions {
  /** The flag, as it is shown in errors. */
  readonly flag: string;
  readonly env: Environment;
  /** The base folder of a relative path. */
  readonly cwd: string;
  /** Where a database keeps files: `postgres`, or `file:///...`. */
  readonly files: string;
  /** The folder for files that this machine can make again. */
  readonly scratchDir: string;
}

/**
 * The place that a flag names.
 * @param text a path, or an address such as `${STATE_URL}`: a password must be in a variable.
 * @throws ConfigError `USAGE`.
 */
export function readStatePlace(text: string, options: PlaceOptions): StatePlace {
  const { flag, env, cwd, files, scratchDir } = options;
  const refuse = (what: string): never => {
    throw new ConfigError('USAGE', `${flag}: ${what}`, {
      hint: `name a folder, or a database by a variable: ${flag} '\${STATE_URL}'`,
    });
  };
  if (showsPassword(text)) refuse('a password in a flag can be read by every user of the machine');
  const place = interpolate(text, env, refuse);
  if (!filesSchema.safeParse(files).success) {
    refuse(`--files takes postgres, or a folder such as file:///mnt/share/foliopipe`);
  }
  if (isPostgres(place)) return resolveState({ state: place, files, stateDir: scratchDir, scratchDir: null });
  if (place.trim() === '' || place.includes('://')) refuse('is neither a folder nor postgres://...');
  return { state: null, files: null, stateDir: resolve(cwd, place) };
}

/** What `readWrittenState` finds. */
interface WrittenState {
  /** The database of the state; null if no setting names one. */
  readonly state: DatabaseAddress | null;
  /** An absolute folder for files that this machine can make again. */
  readonly scratchDir: string;
}

const READ: ReadonlySet<string> = new Set(['state', 'scratchDir', 'stateDir']);

/**
 * The place of the state, for commands about all pipelines of a state. Reads no other keys of the config.
 * @param options as those of `loadConfig`; the files may be of any pipeline, or none.
 * @throws ConfigError `CONFIG_UNREADABLE`; `CONFIG_INVALID` for an invalid state or folder, a password in a flag, and a
 *   flag for another key.
 */
export function readWrittenState(options: LoadOptions): WrittenState {
  const { written, env, baseDir } = readLayers(options);
  const problems = new Problems();
  flagSettings(options.overrides, problems);
  for (const { key, origin } of options.overrides) {
    if (!READ.has(key)) problems.add(key, 'this command reads only state and scratchDir', origin);
  }
  // Null means not set, as in config/nightly.example.yaml.
  const find = (name: string) =>
    written.findLast(({ key, value }) => key.join('.') === name && value !== null);
  const read = (name: string, setting: Setting | undefined, schema: typeof stateSchema) => {
    if (setting === undefined) return null;
    let isUnset = false;
    const label = setting.origin?.label;
    const onProblem = (text: string) => {
      isUnset = true;
      problems.add(name, text, label);
    };
    const parsed = schema.safeParse(settingValue(setting, env, baseDir, onProblem));
    // Does not quote the value: an address may hold a password.
    if (!parsed.success && !isUnset) problems.add(name, `expected ${expectedAt([name])}`, label);
    return parsed.success ? parsed.data : null;
  };
  const state = read('state', find('state'), stateSchema);
  const scratchDir = read('scratchDir', find('scratchDir') ?? find('stateDir'), scratchSchema);
  problems.throwIfAny();
  return { state: state === null ? null : new DatabaseAddress(state), scratchDir: scratchDir! };
}
