/** Asks each open folio once and fetches those that are finished: the first thing that a resume does. */
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
 * A folio that the service does not know just now stays open: whether it is lost is decided by whoever waits.
 * @returns what could not be had, if anything: whoever goes on with the run asks for it once more.
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
  const setback = run.setbacks.first;
  run.setbacks.first = undefined;
  return setback;
}
