/** Finds the run that a person names: by its id, by the beginning of it, or as the last one. */
import type { CheckpointReader, Run } from '../checkpoint/checkpoint.js';
import { ConfigError } from '../errors.js';

/** How many runs an error names. */
const MAX_SHOWN = 5;

/**
 * @param name the id of a run of any pipeline, the beginning of exactly one id of this pipeline, or `last`: the newest run
 *   of the pipeline that is not superseded.
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
    hint: 'give more characters of the id',
    facts: { name, runs: found.length },
  });
}
