/** Finds chunks that are already cut: chunks that still need the service, and chunks of the canary. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachChunk, isAnswered } from '../../checkpoint/walk-run.js';
import type { RunContext } from '../../run-context.js';

/**
 * The cut chunks that still need the service, of the source and of all rounds. Chunks with an open folio come first.
 * Ends early when uploads are stopped.
 */
export async function* unfinishedChunks(
  run: Pick<RunContext, 'id' | 'uploads'> & { readonly checkpoint: Pick<Checkpoint, 'chunksIn'> },
): AsyncGenerator<ChunkRow> {
  yield* eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['cut'])) {
    if (run.uploads.stopped) return;
    yield chunk;
  }
}

type CanaryNeeds = Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'chunk' | 'nextChunk'> };

/**
 * The chunks that hold the canary's records, in the order of the source: the chunk that was cut first, or its halves
 * if it was split. Empty if no chunk is cut yet.
 */
export async function* chunksOfCanary(run: CanaryNeeds): AsyncGenerator<ChunkRow> {
  const canary = await run.checkpoint.chunk(run.id, firstNumber);
  if (canary === undefined) return;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
    if (chunk.lastRecord > canary.lastRecord) return;
    yield chunk;
  }
}

/** Whether the canary has passed. Before that, no record after it is cut and no chunk is merged. */
export async function isPastCanary(
  run: CanaryNeeds & { readonly checkpoint: Pick<Checkpoint, 'lastCut' | 'lastStretch'> },
): Promise<boolean> {
  if ((await run.checkpoint.lastStretch(run.id)) !== undefined) return true;
  const canary = await run.checkpoint.chunk(run.id, firstNumber);
  const last = await run.checkpoint.lastCut(run.id, 0);
  return canary !== undefined && last!.lastRecord > canary.lastRecord;
}

/** Whether the canary is cut, and each of its chunks is downloaded, given up or refused. */
export async function isCanaryAnswered(run: CanaryNeeds): Promise<boolean> {
  let isCut = false;
  for await (const chunk of chunksOfCanary(run)) {
    if (!isAnswered(chunk)) return false;
    isCut = true;
  }
  return isCut;
}

/** Chunks are numbered in the order in which they are cut. */
const firstNumber = 1;
