/** The first half of a job: everything is uploaded, and nothing is waited for but a free place at the service. */
import {
  type ChunkRow,
  type Config,
  checkAllSubmitted,
  chunkRecords,
  drain,
  type RunOptions,
  type RunSummary,
  refetchParts,
  runStages,
  submitChunks,
  summarizeRun,
  trackFolios,
} from '../src/index.js';
import { fetchFinished } from './fetch-finished.js';
import { tryCanary } from './try-canary.js';
import { withSettledRun } from './with-settled-run.js';

/**
 * Uploads every chunk that has no folio yet. Folios are polled only as long as others wait for their place;
 * `collect`, in this process or another, does the rest.
 */
export async function submit(config: Config, options?: RunOptions): Promise<RunSummary> {
  return withSettledRun(config, options, async (run) => {
    if (run.found === 'continued') await fetchFinished(run);
    if (run.found !== 'done') {
      await tryCanary(run);
      const allSubmitted = new AbortController();
      const untilSubmitted = async function* (chunks: AsyncIterable<ChunkRow>) {
        yield* chunks;
        allSubmitted.abort();
      };
      await runStages(
        run.controller,
        chunkRecords(run),
        submitChunks(run, (chunk) => refetchParts(run, chunk)),
        untilSubmitted,
        trackFolios(run, allSubmitted.signal),
        drain,
      );
    }
    await checkAllSubmitted(run);
    return summarizeRun(run, run.id, run.found);
  });
}
