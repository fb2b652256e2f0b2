/** Merges the chunks that are not in the work file yet, and publishes the output or withholds it. */
import { mergeResults, type OpenRun, type Publication, publishOutput, runStages } from '../src/index.js';

/**
 * @param refetch fetches a chunk's parts again.
 * @param isReleased the output is never withheld.
 * @returns null if the output is withheld.
 * @throws TroubleError when the run is not complete; the errors of the stages.
 */
export async function mergeAndPublish(
  run: OpenRun,
  refetch: Parameters<typeof mergeResults>[1],
  isReleased = false,
): Promise<Publication | null> {
  return runStages(
    run.controller,
    nothingToFetch,
    mergeResults(run, refetch),
    publishOutput(run, isReleased),
  );
}

async function* nothingToFetch(): AsyncGenerator<never> {}
