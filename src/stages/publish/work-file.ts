/**
 * The run's work file and the checkpoint, held together. Invariant: what the checkpoint calls merged is on the disk;
 * where the file is shorter, the run goes back to the last whole chunk in it.
 */
import { createHash } from 'node:crypto';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { isLocalFile, workPathOf } from '../../files/local-file.js';
import { openWorkFile, type WorkFile } from '../../files/work-file.js';
import type { RunContext } from '../../run-context.js';
import { type HashedFile, hashFile } from '../../streams/hash-file.js';

export type WorkFileNeeds = Pick<RunContext, 'id' | 'config' | 'at' | 'work'> & {
  readonly checkpoint: Pick<Checkpoint, 'lastMerged' | 'recordUnmerged'>;
};

export function workPath(run: Pick<RunContext, 'id' | 'config'>): string {
  return workPathOf(run.config.output.path, run.id);
}

/** Whether the run's output has begun to be written and is not published yet. */
export function hasWorkFile(run: Pick<RunContext, 'id' | 'config'>): Promise<boolean> {
  return isLocalFile(workPath(run));
}

/** Opens the work file at the end of its last whole chunk. */
export function openMergedWork(run: WorkFileNeeds): Promise<WorkFile> {
  return openWorkFile(workPath(run), run.work, (size) => mergedLength(run, size));
}

/** Where the last merged chunk that the file holds whole ends; those behind it are no longer merged. */
async function mergedLength(run: WorkFileNeeds, size: number): Promise<number> {
  let last = await run.checkpoint.lastMerged(run.id);
  if (last === undefined) return 0;
  let lost: number | undefined;
  while (last !== undefined && last.mergedEnd! > size) {
    lost = last.firstRecord;
    last = await run.checkpoint.lastMerged(run.id, lost);
  }
  if (lost !== undefined) await run.checkpoint.recordUnmerged(run.id, lost);
  return last?.mergedEnd ?? 0;
}

/**
 * The hash of the work file, compared with what was merged chunk by chunk.
 * @returns undefined where the file is not what was merged: the chunks from the first wrong one on are then no
 *   longer merged, and the next run writes them again.
 */
export async function hashWorkFile(
  run: Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'recordUnmerged'> },
  path: string,
): Promise<HashedFile | undefined> {
  let chunk = await run.checkpoint.nextChunk(run.id, 0, 0);
  let wrong: ChunkRow | undefined;
  let at = 0;
  let part = createHash('sha256');
  const look = async (piece: Buffer): Promise<void> => {
    for (let used = 0; used < piece.length && chunk !== undefined && wrong === undefined; ) {
      const taken = Math.min(piece.length - used, chunk.mergedEnd! - at);
      part.update(piece.subarray(used, used + taken));
      used += taken;
      at += taken;
      if (at < chunk.mergedEnd!) continue;
      if (chunk.mergedSha256 !== null && part.digest('hex') !== chunk.mergedSha256) wrong = chunk;
      part = createHash('sha256');
      chunk = await run.checkpoint.nextChunk(run.id, 0, chunk.lastRecord);
    }
  };
  const hashed = await hashFile(path, look);
  const lost = wrong ?? chunk;
  if (lost === undefined) return hashed;
  await run.checkpoint.recordUnmerged(run.id, lost.firstRecord);
  return undefined;
}
