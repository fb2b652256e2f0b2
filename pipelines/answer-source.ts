/**
 * The part of a job before its output: sends the canary, then every record, waits for the answers, and gives the rows to
 * a sink.
 */
import {
  type ChunkRow,
  canaryChunks,
  checkCanary,
  checkLearned,
  checkLoadOfRest,
  chunkRecords,
  downloadParts,
  drain,
  isCanaryAnswered,
  isPastCanary,
  type MergedStretch,
  type MergeResultsOptions,
  mergeResults,
  type OpenRun,
  runStages,
  type SinkStage,
  submitChunks,
  trackFolios,
} from '../src/index.js';
import { fetchFinished } from './fetch-finished.js';

/**
 * @param run a new run, or one that goes on.
 * @param options as for `mergeResults`.
 * @returns what the sink returns. Stages skip chunks that an outage holds back, so the caller must check whether all
 *   rows were given.
 */
export async function answerSource<Result>(
  run: OpenRun,
  sink: SinkStage<MergedStretch, Result>,
  options?: MergeResultsOptions,
): Promise<Result> {
  await prepareToSend(run);
  return runStages(
    run.controller,
    chunkRecords(run),
    submitChunks(run),
    trackFolios(run),
    downloadParts(run),
    mergeResults(run, options),
    checkLearned(run),
    sink,
  );
}

/** Fetches what has been answered meanwhile, and sends the canary, before anything else is paid for. */
export async function prepareToSend(run: OpenRun): Promise<void> {
  if (run.found === 'continued') {
    await fetchFinished(run);
    await checkLoadOfRest(run);
  }
  await tryCanary(run);
}

/**
 * Sends the first records of a run alone and checks their results, before the rest is paid for. Does nothing if the run
 * has no canary, if the canary is everything that is sent, or if it has passed already. Results that are already on the
 * disk are only checked again.
 * @throws GuardError, UntrustedError, TroubleError, see `checkCanary`, before anything else is uploaded; the errors of
 *   `checkLoadOfRest`, because the answers of the canary show the columns of the service.
 */
async function tryCanary(run: OpenRun): Promise<void> {
  if (run.canary === 0 || run.toSend <= run.canary) return;
  if (await isPastCanary(run)) return;
  if (!(await isCanaryAnswered(run))) await sendAndFetch(run, canaryChunks(run));
  await checkCanary(run);
  await checkLoadOfRest(run);
}

/** Sends the chunks that a stage gives, waits for their folios, and downloads their parts. */
export function sendAndFetch(run: OpenRun, chunks: () => AsyncIterable<ChunkRow>): Promise<void> {
  return runStages(run.controller, chunks, submitChunks(run), trackFolios(run), downloadParts(run), drain);
}
