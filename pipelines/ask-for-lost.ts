/** Work on a run whose lost folios are asked for once more before: what the service knows again is collected. */
import { type Config, findLost, hasLost, mayReopen, type OpenRun, type RunOptions } from '../src/index.js';
import { type SettledRun, withSettledRun } from './with-settled-run.js';

/**
 * As `withSettledRun`. Where nothing is lost, or the run is done and cannot be gone on with, the service is not asked.
 * @param body is told whether the run was done, and is open again because of an answer to come.
 */
export async function withLostAskedFor<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: SettledRun, reopened: boolean) => Promise<T>,
): Promise<T> {
  const done = await withSettledRun(config, options, async (run) => {
    const reopened = await askForLost(run);
    // It is to be found anew, as one that is unfinished.
    return run.found === 'done' && reopened ? undefined : { result: await body(run, reopened) };
  });
  return done === undefined ? withSettledRun(config, options, (run) => body(run, true)) : done.result;
}

/** @returns whether a run that was done is open again. */
async function askForLost(run: OpenRun): Promise<boolean> {
  const { state, prunedAt } = (await run.checkpoint.run(run.id))!;
  if (run.found === 'new' || prunedAt !== null || !(await hasLost(run))) return false;
  if (state === 'done' && !(await mayReopen(run))) return false;
  return (await findLost(run)) > 0 && state === 'done';
}
