/** Takes a chunk to a state on the way that a run takes it. */
import type { Checkpoint, ChunkState, Upload } from '../../src/checkpoint/checkpoint.js';
import { sampleChunk, samplePart } from './checkpoint-samples.js';

/** Begins an upload attempt of a chunk. */
export function beginUpload(checkpoint: Checkpoint, run: string, chunk: number, at = 1): Promise<Upload> {
  return checkpoint.recordIntent(run, chunk, (attempt) => `${run}-${chunk}-${attempt}.csv`, at);
}

export const sampleReply = (chunk: number) => ({
  folio: `folio-${chunk}`,
  serviceRecords: 10,
  rehearsal: false,
});

/** Cuts the next chunk of a run and takes it to the state. */
export async function addChunk(
  checkpoint: Checkpoint,
  run: string,
  chunk: number,
  state: ChunkState,
): Promise<void> {
  await checkpoint.recordCut(run, sampleChunk(chunk));
  if (state === 'cut') return;
  if (state === 'unprocessed') return checkpoint.recordUnprocessed(run, chunk, 'DEADLINE');
  await beginUpload(checkpoint, run, chunk);
  if (state === 'uploading') return;
  if (state === 'ambiguous') return checkpoint.recordAmbiguous(run, chunk, 2);
  await checkpoint.recordAccepted(run, chunk, sampleReply(chunk), 2);
  if (state === 'submitted') return;
  const listed = [{ fileStatus: 'SUCCESSFUL' as const, part: 0 }];
  await checkpoint.recordFinished(run, chunk, { successful: 10, failed: 0 }, listed);
  if (state === 'finished') return;
  await checkpoint.recordPart(run, chunk, samplePart(0));
  await checkpoint.recordDownloaded(run, chunk);
}
