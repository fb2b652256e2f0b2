/** The chunks that were cut before, by this process or an earlier one, and still need the service. */
import type { Checkpoint, ChunkRow, PickedRecords } from '../../checkpoint/checkpoint.js';
import { eachChunk, isAnswered } from '../../checkpoint/walk-run.js';
import type { RunContext } from '../../run-context.js';
import { checkFilesBetween } from '../read-source.js';
import type { CutChunk } from './cut-chunks.js';

/**
 * Of the source and of all rounds, those with an open folio first. Ends early once uploads are stopped.
 */
export async function* begunChunks(
  run: Pick<RunContext, 'id' | 'uploads'> & { readonly checkpoint: Pick<Checkpoint, 'chunksIn'> },
): AsyncGenerator<ChunkRow> {
  yield* eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['cut'])) {
    if (run.uploads.stopped) return;
    yield chunk;
  }
}

/** Keeps a chunk that was just cut: its row first, which gives it its number, then its file under that number. */
export type KeepChunkNeeds = Pick<RunContext, 'id' | 'source' | 'files' | 'at'> & {
  readonly checkpoint: Pick<Checkpoint, 'recordCut'>;
};

/**
 * A kill between the two leaves a row without a file: `restoreChunk` cuts it again before the upload.
 * @param picked the chunk's records, where it is not simply the source's next ones.
 * @throws SourceError when the source is no longer the one that was checked.
 */
export async function keepChunk(
  run: KeepChunkNeeds,
  { chunk, content }: CutChunk,
  picked: PickedRecords | null,
): Promise<ChunkRow> {
  await checkFilesBetween(run.source, chunk.start, chunk.end);
  const kept = await run.checkpoint.recordCut(run.id, { ...chunk, picked });
  run.at('after-cut-before-chunk-file');
  await run.files.writeChunk(kept.number, [content], kept.sha256);
  run.at('after-cut-before-intent');
  return kept;
}

/** The chunks that hold the canary's records: the one that was cut first, or the halves that took its place. */
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
