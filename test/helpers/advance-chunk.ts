/** Takes a chunk to a state on the way that a run takes it. */
import type { Budget, Checkpoint, ChunkState, NewChunk, Upload } from '../../src/checkpoint/checkpoint.js';
import { sampleBudget, sampleChunk, sampleHalves, samplePart, sampleSingle } from './checkpoint-samples.js';

/** Begins an upload attempt of a chunk. */
export function beginUpload(
  checkpoint: Checkpoint,
  run: string,
  chunk: number,
  at = 1,
  budget: Budget = sampleBudget(),
): Promise<Upload> {
  return checkpoint.recordIntent(run, chunk, (attempt) => `${run}-${chunk}-${attempt}.csv`, at, budget);
}

export const sampleReply = (chunk: number) => ({
  folio: `folio-${chunk}`,
  serviceRecords: 10,
  rehearsal: false,
});

/** Cuts the next chunk of a run and takes it to the state; the halves of a split one are 1000 and 2000 behind. */
export async function addChunk(
  checkpoint: Checkpoint,
  run: string,
  chunk: number,
  state: ChunkState,
): Promise<void> {
  const added = state === 'refused' ? sampleSingle(chunk) : sampleChunk(chunk);
  await addAs(checkpoint, run, added, state);
}

/** Cuts a chunk and takes it to the state. */
export async function addAs(
  checkpoint: Checkpoint,
  run: string,
  added: NewChunk,
  state: ChunkState,
): Promise<void> {
  const { number: chunk, records } = added;
  await checkpoint.recordCut(run, added);
  if (state === 'cut') return;
  if (state === 'unprocessed') return void (await checkpoint.recordUnprocessed(run, chunk, 'DEADLINE'));
  if (state === 'refused') return void (await checkpoint.recordRefused(run, chunk, 'not ours'));
  if (state === 'split') {
    const halves = sampleHalves(added, [chunk + 1000, chunk + 2000]);
    return void (await checkpoint.recordSplit(run, chunk, halves));
  }
  await beginUpload(checkpoint, run, chunk);
  if (state === 'uploading') return;
  if (state === 'ambiguous') return checkpoint.recordAmbiguous(run, chunk, 2, 'no-reply');
  await checkpoint.recordAccepted(run, chunk, sampleReply(chunk), 2);
  if (state === 'submitted') return;
  const listed = [{ fileStatus: 'SUCCESSFUL' as const, part: 0 }];
  await checkpoint.recordFinished(run, chunk, { successful: records, failed: 0 }, listed);
  if (state === 'finished') return;
  await checkpoint.recordPart(run, chunk, samplePart(0));
  await checkpoint.recordDownloaded(run, chunk);
}
