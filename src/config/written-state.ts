/** Where the state is, for commands that work for all pipelines of a state: the rest of a config is not read. */
import { flagSettings } from './flag-settings.js';
import { withVariables } from './interpolate.js';
import { expectedAt } from './known-keys.js';
import { type LoadOptions, readLayers, settingValue } from './load-config.js';
import { Problems } from './problems.js';
import { DatabaseAddress } from './sections/load-section.js';
import { scratchSchema, stateSchema } from './sections/state-section.js';
import type { Setting } from './settings.js';

export interface WrittenState {
  /** The database of the state; null if no setting names one. */
  readonly state: DatabaseAddress | null;
  /** An absolute folder for what this machine can make again. */
  readonly scratchDir: string;
}

const READ: ReadonlySet<string> = new Set(['state', 'scratchDir', 'stateDir']);

/**
 * @param options as those of `loadConfig`; the files may be of any pipeline, or none.
 * @throws ConfigError `CONFIG_UNREADABLE`; `CONFIG_INVALID` for a state or a folder that is none, a password in a flag,
 *   and a flag for another key.
 */
export function readWrittenState(options: LoadOptions): WrittenState {
  const { written, env, baseDir } = readLayers(options);
  const problems = new Problems();
  flagSettings(options.overrides, problems);
  for (const { key, origin } of options.overrides) {
    if (!READ.has(key)) problems.add(key, 'this command reads only state and scratchDir', origin);
  }
  const find = (name: string) => written.findLast(({ key }) => key.join('.') === name);
  const read = (name: string, setting: Setting | undefined, schema: typeof stateSchema) => {
    if (setting === undefined) return null;
    let isUnset = false;
    const label = setting.origin?.label;
    const onProblem = (text: string) => {
      isUnset = true;
      problems.add(name, text, label);
    };
    withVariables(setting, env, onProblem);
    const parsed = schema.safeParse(settingValue(setting, env, baseDir));
    // An address may hold a password.
    if (!parsed.success && !isUnset) problems.add(name, `expected ${expectedAt([name])}`, label);
    return parsed.success ? parsed.data : null;
  };
  const state = read('state', find('state'), stateSchema);
  const scratchDir = read('scratchDir', find('scratchDir') ?? find('stateDir'), scratchSchema);
  problems.throwIfAny();
  return { state: state === null ? null : new DatabaseAddress(state), scratchDir: scratchDir! };
}
