/** Brings a chunk into a state by the same steps as a run. */
import type {
  Budget,
  Checkpoint,
  ChunkState,
  NewChunk,
  RowCounts,
  Upload,
} from '../../../src/checkpoint/checkpoint.js';
import type { WithCheckpoint } from '../../contract/checkpoint-contract.js';
import { sampleBudget, sampleChunk, sampleHalves, samplePart, sampleRun, sampleSingle } from './samples.js';

/** Gives each test a checkpoint with the run `r1`. @param state of its first chunk; left out: it has none. */
export function withSampleRun(withCheckpoint: WithCheckpoint, state?: ChunkState): WithCheckpoint {
  return (use) =>
    withCheckpoint(async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      if (state !== undefined) await addChunk(checkpoint, 'r1', 1, state);
      await use(checkpoint);
    });
}

/** Records the intent to upload a chunk. */
export function beginUpload(
  checkpoint: Checkpoint,
  run: string,
  chunk: number,
  at = 1,
  budget: Budget = sampleBudget(),
): Promise<Upload> {
  const fileName = { before: `${run}-${chunk}-`, after: '.csv' };
  return checkpoint.recordIntent(run, chunk, fileName, at, budget);
}

export const sampleReply = (chunk: number) => ({
  folio: `folio-${chunk}`,
  serviceRecords: 10,
  rehearsal: false,
});

/**
 * Cuts the n-th ten records of a run's source and brings the chunk into the state.
 * @returns its number; the halves of a split chunk get the next two.
 */
export function addChunk(
  checkpoint: Checkpoint,
  run: string,
  nth: number,
  state: ChunkState,
): Promise<number> {
  return addAs(checkpoint, run, state === 'refused' ? sampleSingle(nth) : sampleChunk(nth), state);
}

/** Cuts a chunk and takes it to the state; returns its number. */
export async function addAs(
  checkpoint: Checkpoint,
  run: string,
  added: NewChunk,
  state: ChunkState,
): Promise<number> {
  const { number } = await checkpoint.recordCut(run, added);
  await advanceChunk(checkpoint, run, number, state);
  return number;
}

/** Takes a chunk that was just cut to the state. */
export async function advanceChunk(
  checkpoint: Checkpoint,
  run: string,
  chunk: number,
  state: ChunkState,
): Promise<void> {
  if (state === 'cut') return;
  if (state === 'unprocessed') return void (await checkpoint.recordUnprocessed(run, chunk, 'DEADLINE'));
  if (state === 'refused') return void (await checkpoint.recordRefused(run, chunk, 'not ours'));
  const row = (await checkpoint.chunk(run, chunk))!;
  if (state === 'split') return void (await checkpoint.recordSplit(run, chunk, sampleHalves(row)));
  await beginUpload(checkpoint, run, chunk);
  if (state === 'uploading') return;
  if (state === 'ambiguous') return checkpoint.recordAmbiguous(run, chunk, 2, 'no-reply');
  await checkpoint.recordAccepted(run, chunk, sampleReply(chunk), 2);
  if (state === 'submitted') return;
  const listed = [{ fileStatus: 'SUCCESSFUL' as const, part: 0 }];
  await checkpoint.recordFinished(run, chunk, { successful: row.records, failed: 0 }, listed);
  if (state === 'finished') return;
  await checkpoint.recordParts(run, chunk, [samplePart(0)]);
  await checkpoint.recordDownloaded(run, chunk);
}

/** Merges a chunk as one stretch. */
export async function mergeChunk(
  checkpoint: Checkpoint,
  run: string,
  number: number,
  counts: RowCounts,
  workEnd: number,
): Promise<void> {
  const { firstRecord, lastRecord, records, end } = (await checkpoint.chunk(run, number))!;
  const stretch = { firstRecord, lastRecord, records, end, counts, workEnd, sha256: 'f00d' };
  await checkpoint.recordMerged(run, stretch);
}
