/** The chunks that hold the canary's records: the one that was cut first, or the halves that took its place. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';
import { isAnswered } from './is-answered.js';

export type CanaryNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunk' | 'nextChunk'>;
};

export type PastCanaryNeeds = CanaryNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'lastCut' | 'lastMerged'>;
};

/** In the source's order; none where nothing is cut yet. */
export async function* eachOfCanary(run: CanaryNeeds): AsyncGenerator<ChunkRow> {
  const canary = await run.checkpoint.chunk(run.id, firstNumber);
  let chunk = await run.checkpoint.nextChunk(run.id, 0, 0);
  while (canary !== undefined && chunk !== undefined && chunk.lastRecord <= canary.lastRecord) {
    yield chunk;
    chunk = await run.checkpoint.nextChunk(run.id, 0, chunk.lastRecord);
  }
}

/** Whether it has passed before: nothing is cut behind it until then, and nothing merged. */
export async function isPastCanary(run: PastCanaryNeeds): Promise<boolean> {
  if ((await run.checkpoint.lastMerged(run.id)) !== undefined) return true;
  const canary = await run.checkpoint.chunk(run.id, firstNumber);
  const last = await run.checkpoint.lastCut(run.id, 0);
  return canary !== undefined && last!.lastRecord > canary.lastRecord;
}

/** Whether all of it is cut, and nothing more comes for it. */
export async function isCanaryAnswered(run: CanaryNeeds): Promise<boolean> {
  let isCut = false;
  for await (const chunk of eachOfCanary(run)) {
    if (!isAnswered(chunk)) return false;
    isCut = true;
  }
  return isCut;
}

/** Numbers are given out in the order of cutting. */
const firstNumber = 1;
