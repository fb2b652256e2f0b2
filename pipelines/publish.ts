/** Writes the output of a run again from what was bought; the service is not asked. */
import {
  type Config,
  mergeResults,
  publishOutput,
  type RunOptions,
  type RunSummary,
  runStages,
  summarizeRun,
} from '../src/index.js';
import { withSettledRun } from './with-settled-run.js';

/**
 * @param id a run of the config's pipeline; its source must be unchanged.
 * @throws ConfigError when there is no such run; TroubleError when it is not complete yet.
 */
export async function publish(config: Config, id: string, options?: RunOptions): Promise<RunSummary> {
  return withSettledRun(config, { ...options, existing: id }, async (run) => {
    await run.checkpoint.recordUnmerged(run.id, 1);
    await runStages(run.controller, nothingToFetch, mergeResults(run), publishOutput(run));
    return summarizeRun(run.checkpoint, run.id, run.found);
  });
}

async function* nothingToFetch(): AsyncGenerator<never> {}
