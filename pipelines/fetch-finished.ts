/** Asks each open folio once and fetches those that are finished: the first thing that a resume does. */
import { downloadParts, drain, type OpenRun, openChunks, runStages, trackFolios } from '../src/index.js';

export async function fetchFinished(run: OpenRun): Promise<void> {
  const askOnce = AbortSignal.abort();
  await runStages(run.controller, openChunks(run), trackFolios(run, askOnce), downloadParts(run), drain);
}
