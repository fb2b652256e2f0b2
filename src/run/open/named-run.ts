/** Finds the run that a person names: by its id, by the beginning of it, or as the last one. */
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { ConfigError } from '../../errors.js';
import { openStateReader, type StateReader, stateMissing } from '../state-reader.js';

/**
 * Reads a run from its state, without a lock.
 * @param name see `namedRun`.
 * @param find which run the name means.
 * @param checkpoint left out: the one of the config, opened for reading and closed again.
 * @throws ConfigError `STATE_MISSING`, `RUN_UNKNOWN`, `RUN_AMBIGUOUS`.
 */
export async function withNamedRun<T>(
  config: Pick<Config, 'stateDir' | 'state' | 'pipeline'>,
  name: string,
  checkpoint: CheckpointReader | undefined,
  use: (checkpoint: CheckpointReader & Partial<Pick<StateReader, 'worker'>>, run: Run) => Promise<T>,
  find = namedRun,
): Promise<T> {
  const opened = checkpoint === undefined ? await openStateReader(config) : undefined;
  const state = checkpoint ?? opened;
  if (state === undefined) throw stateMissing(config);
  const { pipeline } = config;
  try {
    const run = await find(state, pipeline, name);
    checkKnown(run, pipeline, name);
    return await use(state, run);
  } finally {
    await opened?.close();
  }
}

/** How many runs an error names. */
const MAX_SHOWN = 5;

/**
 * @param name the id of a run of any pipeline, the beginning of exactly one id of this pipeline, or `last`: see
 *   `CheckpointReader.latestRun`. `last` never names a sample.
 * @returns undefined if there is no such run.
 * @throws ConfigError `RUN_AMBIGUOUS`.
 */
export async function namedRun(
  checkpoint: Pick<CheckpointReader, 'run' | 'runs' | 'latestRun'>,
  pipeline: string,
  name: string,
): Promise<Run | undefined> {
  if (name === 'last') return checkpoint.latestRun(pipeline);
  const exact = await checkpoint.run(name);
  if (exact !== undefined) return exact;
  const runs = await checkpoint.runs(pipeline);
  const id = beginningWith(
    name,
    runs.map((run) => run.id),
  );
  return runs.find((run) => run.id === id);
}

/** The run that somebody looks at: as `namedRun`, but `last` names the newest sample where there is nothing else. */
export async function shownRun(
  checkpoint: Parameters<typeof namedRun>[0],
  pipeline: string,
  name: string,
): Promise<Run | undefined> {
  const run = await namedRun(checkpoint, pipeline, name);
  return run === undefined && name === 'last' ? (await checkpoint.runs(pipeline))[0] : run;
}

/**
 * @param name how the run was named.
 * @throws ConfigError `RUN_UNKNOWN` if the pipeline has no such run.
 */
export function checkKnown(run: Run | undefined, pipeline: string, name: string): asserts run is Run {
  if (run?.pipeline === pipeline) return;
  throw new ConfigError(
    'RUN_UNKNOWN',
    `pipeline ${pipeline} has no run${name === 'last' ? ' yet' : ` ${name}`}`,
    {
      hint:
        name === 'last'
          ? 'begin one with: foliopipe run; last names no sample: foliopipe runs lists their ids'
          : 'see the runs with: foliopipe runs',
    },
  );
}

/**
 * @param ids newest first.
 * @returns the id that equals the name, or else the only one that begins with it; undefined if there is none.
 * @throws ConfigError `RUN_AMBIGUOUS` if several begin with it.
 */
export function beginningWith(name: string, ids: readonly string[]): string | undefined {
  if (ids.includes(name)) return name;
  const found = name === '' ? [] : ids.filter((id) => id.startsWith(name));
  if (found.length <= 1) return found[0];
  const shown = found.slice(0, MAX_SHOWN).join(', ');
  const more = found.length > MAX_SHOWN ? ` and ${found.length - MAX_SHOWN} more` : '';
  throw new ConfigError('RUN_AMBIGUOUS', `${found.length} runs begin with ${name}: ${shown}${more}`, {
    hint: 'give more characters of the id; see the runs with: foliopipe runs',
    facts: { name, runs: found.length },
  });
}
