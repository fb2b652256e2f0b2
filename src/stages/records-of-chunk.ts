/** The records of one chunk, read from the source again: whatever is cut out of them has the bytes it had. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { Batch } from '../csv/batch.js';
import { pickRecords } from '../csv/pick-records.js';
import type { RunContext } from '../run-context.js';
import { recordsFrom } from './read-source.js';

export type RecordsOfNeeds = Pick<RunContext, 'id' | 'source' | 'config' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'pickedRecords'>;
};

/** Exactly the chunk's records, in the source's order. */
export async function* recordsOf(run: RecordsOfNeeds, chunk: ChunkRow): AsyncGenerator<Batch> {
  const batches = recordsFrom(run, { position: chunk.start, record: chunk.firstRecord });
  const picked = await run.checkpoint.pickedRecords(run.id, chunk.number);
  if (picked !== undefined) {
    yield* pickRecords(batches, [picked]);
    return;
  }
  for await (const batch of batches) {
    const wanted = chunk.lastRecord - batch.firstRecord + 1;
    if (wanted > 0) yield wanted < batch.count ? { ...batch, count: wanted } : batch;
    if (wanted <= batch.count) return;
  }
}
