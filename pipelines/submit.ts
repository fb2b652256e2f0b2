/** The first half of a job: uploads everything, and waits only for free folio permits. */
import {
  type ChunkRow,
  type Config,
  checkAllSubmitted,
  checkCall,
  chunkRecords,
  drain,
  type Job,
  type RunOptions,
  type RunSummary,
  runStages,
  startJob,
  submitChunks,
  trackFolios,
} from '../src/index.js';
import { prepareToSend } from './answer-source.js';
import { endOfRun } from './end-of-run.js';
import { withReadyRun } from './with-ready-run.js';

/**
 * Uploads every chunk that has no folio yet. Polls folios only while chunks wait for a permit. `collect`, in this
 * process or another one, does the rest.
 */
export function submit(config: Config, options: RunOptions = {}): Job<RunSummary> {
  return startJob(
    options,
    (given) => submitAll(config, given),
    () => checkCall('submit', { config, options }),
  );
}

async function submitAll(config: Config, options: RunOptions): Promise<RunSummary> {
  return withReadyRun(config, options, async (run) => {
    if (run.found !== 'done') {
      await prepareToSend(run);
      const allSubmitted = new AbortController();
      const untilSubmitted = async function* (chunks: AsyncIterable<ChunkRow>) {
        yield* chunks;
        allSubmitted.abort();
      };
      await runStages(
        run.controller,
        chunkRecords(run),
        submitChunks(run),
        untilSubmitted,
        trackFolios(run, allSubmitted.signal),
        drain,
      );
    }
    await checkAllSubmitted(run);
    return endOfRun(run);
  });
}
