/** The chunks of the canary: the records that are sent alone and checked before the rest is paid for. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered } from '../../checkpoint/walk-run.js';
import type { RunContext } from '../../run-context.js';

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
