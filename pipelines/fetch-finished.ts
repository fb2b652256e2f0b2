/** Asks for each open folio once and fetches those that are finished: the first step of a resume. */
import {
  downloadParts,
  drain,
  type FoliopipeError,
  type OpenRun,
  openChunks,
  runStages,
  trackFolios,
} from '../src/index.js';

/**
 * A folio that the service does not know stays open: only a run that waits decides whether it is lost.
 * @returns the first error that stopped a chunk, if any: the caller may go on and ask again.
 */
export async function fetchFinished(run: OpenRun): Promise<FoliopipeError | undefined> {
  const askOnce = AbortSignal.abort();
  await runStages(
    run.controller,
    openChunks(run),
    trackFolios(run, askOnce),
    downloadParts(run, askOnce),
    drain,
  );
  const { error } = run.deferred;
  run.deferred.error = undefined;
  return error;
}
