/** Gives up a chunk whose folio the service has forgotten (law 9): its records become UNPROCESSED, the run goes on. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { FolioLostError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';

export type GiveUpNeeds = Pick<RunContext, 'id' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'recordUnprocessed'>;
};

export async function giveUpLost(run: GiveUpNeeds, chunk: ChunkRow, error: FolioLostError): Promise<void> {
  run.logger.error(
    { chunk: chunk.number, folio: chunk.folio, code: error.code },
    `chunk ${chunk.number}: ${error.message}; its ${chunk.records} records become UNPROCESSED`,
  );
  await run.checkpoint.recordUnprocessed(run.id, chunk.number, 'FOLIO_LOST');
}
