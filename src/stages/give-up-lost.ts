/** Gives up a chunk whose folio the service has forgotten (law 9): its records have no answer from it, the run goes on. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { FolioLostError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';

export type GiveUpNeeds = Pick<RunContext, 'id' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'recordUnprocessed' | 'recordUnmerged'>;
};

/**
 * Its parts that are stored stay so: a later run asks for the folio again.
 * @returns the chunk, `unprocessed`.
 */
export async function giveUpLost(
  run: GiveUpNeeds,
  chunk: ChunkRow,
  error: FolioLostError,
): Promise<ChunkRow> {
  const { number, folio, records, round, mergedEnd, firstRecord } = chunk;
  // What is sent in a round has failed before.
  const what = round === 0 ? 'become UNPROCESSED' : 'stay FAILED';
  run.logger.error(
    { chunk: number, folio, code: error.code },
    `chunk ${number}: ${error.message}; its ${records} records ${what}`,
  );
  if (mergedEnd !== null) await run.checkpoint.recordUnmerged(run.id, firstRecord);
  return run.checkpoint.recordUnprocessed(run.id, number, 'FOLIO_LOST');
}
