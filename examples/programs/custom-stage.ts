/** A stage of one's own in the middle of the job: each finished folio is reported to the accounting before it is fetched. */
import {
  answerFailed,
  appendMerged,
  type ChunkRow,
  type Config,
  checkLearned,
  chunkRecords,
  downloadParts,
  mergeAndPublish,
  mergeResults,
  type RunOptions,
  type RunSummary,
  runStages,
  submitChunks,
  summarizeRun,
  trackFolios,
  withReadyRun,
} from 'foliopipe';

/**
 * The job of `enrich`, with the accounting in it.
 * @param book books a folio. A continued run may report a folio again, so book it by its id. If it throws, the run stops
 *   there, and continues when this function is called again.
 */
export async function enrichAndBook(
  config: Config,
  book: (bill: { readonly folio: string; readonly records: number }) => Promise<void>,
  options?: RunOptions,
): Promise<RunSummary> {
  return withReadyRun(config, options, async (run) => {
    async function* booked(chunks: AsyncIterable<ChunkRow>) {
      for await (const chunk of chunks) {
        await book({ folio: chunk.folio!, records: chunk.records });
        yield chunk;
      }
    }
    if (run.found !== 'done') {
      await runStages(
        run.controller,
        chunkRecords(run),
        submitChunks(run),
        trackFolios(run),
        booked,
        downloadParts(run),
        mergeResults(run),
        checkLearned(run),
        appendMerged(run),
      );
      await answerFailed(run);
      await mergeAndPublish(run);
    }
    return summarizeRun(run, run.id, run.found);
  });
}
