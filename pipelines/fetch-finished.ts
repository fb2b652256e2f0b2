/** The first step of a resume: asks for each open folio once, and downloads the finished ones. */
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
 * A folio that the service does not know stays open, because only a run that waits decides whether it is lost.
 * @returns the first error that stopped a chunk, if any. The caller may continue and ask again.
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
