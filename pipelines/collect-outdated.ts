/** Ends a run whose source has changed: what the service still owes it is collected, then a newer run takes its place. */
import {
  downloadParts,
  drain,
  type OpenRun,
  openChunks,
  runStages,
  supersede,
  trackFolios,
} from '../src/index.js';

/**
 * Its source is not read. A folio that is not done within `poll.timeout` is left behind, and told.
 * @throws OutageError when the service cannot be asked: nothing is given up then.
 */
export async function collectOutdated(run: OpenRun): Promise<void> {
  await runStages(run.controller, openChunks(run), trackFolios(run), downloadParts(run), drain);
  if (run.setbacks.first !== undefined) throw run.setbacks.first;
  const row = (await run.checkpoint.run(run.id))!;
  const { chunks } = await run.checkpoint.tally(run.id);
  const left = chunks.submitted + chunks.finished + chunks.ambiguous;
  await supersede(run.checkpoint, row, run.clock.now());
  run.logger.warn(
    { run: run.id, collected: chunks.downloaded, left },
    `run ${run.id} is superseded: its source has changed; the answers of ${chunks.downloaded} chunks are kept` +
      (left === 0 ? '' : `, ${left} chunks that were or may have been paid for were left behind`),
  );
}
