/**
 * What was answered with a reply that could not be read: the service is likely to have it, so it is never sent again
 * by itself, be it as the same chunk or in a later round (law 3).
 */
import { attemptsOf } from '../checkpoint/attempts-of.js';
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import type { RunContext } from '../run-context.js';

export type WasUnreadableNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'uploads'>;
};

/** Whether a reply to any upload of the chunk could not be read, unless its folio was found since. */
export async function wasUnreadable({ id, checkpoint }: WasUnreadableNeeds, chunk: number): Promise<boolean> {
  const attempts = await attemptsOf(checkpoint, id, chunk);
  return attempts.some((attempt) => attempt.doubt === 'unreadable');
}

export type UnreadRecordsNeeds = WasUnreadableNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'pickedRecords'>;
};

/** Numbers of the failed records that were sent so in a round. */
export async function unreadRecords(run: UnreadRecordsNeeds): Promise<ReadonlySet<number>> {
  const numbers = new Set<number>();
  for await (const { number, cause } of eachChunk(run.checkpoint, run.id, ['unprocessed'])) {
    if (cause !== 'AMBIGUOUS_HELD' || !(await wasUnreadable(run, number))) continue;
    for (const record of (await run.checkpoint.pickedRecords(run.id, number)) ?? []) numbers.add(record);
  }
  return numbers;
}
