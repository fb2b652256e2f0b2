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

/** @returns what could not be had, if anything: whoever goes on with the run asks for it once more. */
export async function fetchFinished(run: OpenRun): Promise<FoliopipeError | undefined> {
  const askOnce = AbortSignal.abort();
  await runStages(run.controller, openChunks(run), trackFolios(run, askOnce), downloadParts(run), drain);
  const setback = run.setbacks.first;
  run.setbacks.first = undefined;
  return setback;
}
