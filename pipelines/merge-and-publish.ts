/** Merges the chunks that are not in the work file yet, and publishes the output or withholds it. */
import {
  isCompleted,
  mergeResults,
  type OpenRun,
  type Publication,
  publishOutput,
  type Refetch,
  removeRewritten,
  runStages,
} from '../src/index.js';

/**
 * Removes the work file of a run that had ended before, even if it cannot be published.
 * @param options `isReleased`: the output is never withheld. `refetch`: fetches parts again for the merge.
 * @returns null if the output is withheld.
 * @throws TroubleError when the run is not complete; the errors of the stages.
 */
export async function mergeAndPublish(
  run: OpenRun,
  {
    isReleased = false,
    refetch = run.refetch,
  }: { readonly isReleased?: boolean; readonly refetch?: Refetch | undefined } = {},
): Promise<Publication | null> {
  const before = (await run.checkpoint.run(run.id))!;
  const { output, stateDir } = run.config;
  try {
    return await runStages(
      run.controller,
      nothingToFetch,
      mergeResults({ ...run, refetch }),
      publishOutput(run, isReleased),
    );
  } finally {
    if (isCompleted(before)) {
      // Only the outcome of the publication counts. Files that cannot be removed now are removed by the next publication.
      await removeRewritten(run.checkpoint, before, output.path, stateDir).catch(() => undefined);
    }
  }
}

/** The first stage of a chain that merges what is downloaded already. */
export async function* nothingToFetch(): AsyncGenerator<never> {}
