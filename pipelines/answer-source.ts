/** The part of a job before its output: every record is sent and answered, and the rows go to a sink. */
import {
  checkLearned,
  checkLoadOfRest,
  chunkRecords,
  downloadParts,
  type MergedStretch,
  mergeResults,
  type OpenRun,
  refetchParts,
  runStages,
  type SinkStage,
  submitChunks,
  trackFolios,
} from '../src/index.js';
import { fetchFinished } from './fetch-finished.js';
import { tryCanary } from './try-canary.js';

/**
 * @param run a new run, or one that goes on.
 * @param options as for `mergeResults`.
 * @returns what the sink returns. Stages skip chunks that an outage holds back: whether all rows were given, the caller
 *   checks.
 */
export async function answerSource<Result>(
  run: OpenRun,
  sink: SinkStage<MergedStretch, Result>,
  options?: Parameters<typeof mergeResults>[2],
): Promise<Result> {
  if (run.found === 'continued') {
    await fetchFinished(run);
    await checkLoadOfRest(run);
  }
  await tryCanary(run);
  return runStages(
    run.controller,
    chunkRecords(run),
    submitChunks(run, (chunk) => refetchParts(run, chunk)),
    trackFolios(run),
    downloadParts(run),
    mergeResults(run, (chunk) => refetchParts(run, chunk), options),
    checkLearned(run),
    sink,
  );
}
