/**
 * Closes a round of failed records: all its chunks are answered, its answers count, and the output is written again.
 */

import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered } from '../../checkpoint/walk-run.js';
import { countOf } from '../../quantities.js';
import type { RunContext } from '../../run-context.js';
import { incompleteError } from '../publish/check-complete.js';

export type CloseRoundNeeds = Pick<RunContext, 'id' | 'deferred' | 'uploads' | 'logger' | 'at'> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'run' | 'nextChunk' | 'tally' | 'chunksIn' | 'attempts' | 'doubtsInRow' | 'recordRoundSettled'
  >;
};

/**
 * @param round the first open round; all its records are cut, unless uploads were stopped.
 * @returns false if the round has no chunk; it then stays open.
 * @throws the error that stopped a chunk, or TroubleError: the run goes on later.
 */
export async function closeRound(run: CloseRoundNeeds, round: number): Promise<boolean> {
  const sum = { chunks: 0, records: 0, successful: 0 };
  let isDone = !run.uploads.stopped;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id, round)) {
    isDone &&= isAnswered(chunk);
    sum.chunks += 1;
    sum.records += chunk.records;
    sum.successful += chunk.state === 'downloaded' ? chunk.counts!.successful : 0;
  }
  if (!isDone) {
    const { chunks } = (await run.checkpoint.run(run.id))!;
    throw run.deferred.error ?? (await incompleteError(run, chunks, await run.checkpoint.tally(run.id)));
  }
  if (sum.chunks === 0) return false;
  run.at('after-round-answered-before-settled');
  await run.checkpoint.recordRoundSettled(run.id, round);
  run.at('after-settled-before-merge');
  run.logger.info(
    { run: run.id, round, ...sum },
    `round ${round}: ${countOf(sum.records, 'failed record')} sent again, ${sum.successful} successful now`,
  );
  return true;
}
