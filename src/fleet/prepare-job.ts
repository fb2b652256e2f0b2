/** Makes the job of a config, as `foliopipe enqueue` hands it to the workers. */

import { configForJob, settingsOfJob } from '../config/job-config.js';
import { type LoadOptions, loadConfig } from '../config/load-config.js';
import type { Config } from '../config/schema.js';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import { STREAM } from '../config/sections/values.js';
import { readWrittenState } from '../config/state-place.js';
import { ConfigError } from '../errors.js';
import type { RunFlags, RunJob } from './job.js';

export interface PreparedJob {
  readonly job: RunJob;
  readonly state: DatabaseAddress;
  readonly config: Config;
}

/**
 * @param options as those of `loadConfig`. The whole config is checked, except what only the service and secrets need.
 * @param host this machine, on which the config can be corrected.
 * @throws the errors of `loadConfig`; ConfigError `CONFIG_INVALID` for secrets that are written out,
 *   `FLEET_STATE_MISSING`, `FLEET_STDIN`.
 */
export async function prepareJob(options: LoadOptions, flags: RunFlags, host: string): Promise<PreparedJob> {
  const config = await loadConfig({ ...options, needs: 'nothing' });
  const { state, pipeline, ownFiles } = config;
  if (config.source.path === STREAM) {
    throw new ConfigError('FLEET_STDIN', 'the source is standard input, and a job of a fleet has none');
  }
  const text = JSON.stringify(configForJob(options), null, 2);
  const files = ownFiles.slice(0, options.files.length);
  const settings = settingsOfJob(options);
  const from = { host, files, ...(settings.length > 0 && { settings }) };
  const job: RunJob = { version: 1, pipeline, config: text, flags, from };
  return { job, state: expectState(state), config };
}

/**
 * Where the fleet of a config is. Reads only `state` and `scratchDir`.
 * @throws ConfigError `CONFIG_INVALID`, `CONFIG_UNREADABLE`, `FLEET_STATE_MISSING`.
 */
export function readFleetPlace(options: LoadOptions): {
  readonly state: DatabaseAddress;
  readonly scratchDir: string;
} {
  const { state, scratchDir } = readWrittenState(options);
  return { state: expectState(state), scratchDir };
}

function expectState(state: DatabaseAddress | null): DatabaseAddress {
  if (state !== null) return state;
  throw new ConfigError(
    'FLEET_STATE_MISSING',
    'a fleet keeps its jobs in the database of the state, and none is named',
  );
}
