/** Merges the chunks that are not in the work file yet, and publishes the output. */
import { mergeResults, type OpenRun, publishOutput, runStages } from '../src/index.js';

/**
 * @param refetch fetches a chunk's parts again; without it the service is not asked.
 * @throws TroubleError when the run is not complete; the errors of the stages.
 */
export async function mergeAndPublish(
  run: OpenRun,
  refetch?: Parameters<typeof mergeResults>[1],
): Promise<void> {
  await runStages(run.controller, nothingToFetch, mergeResults(run, refetch), publishOutput(run));
}

async function* nothingToFetch(): AsyncGenerator<never> {}
