/** Hashes a work file before it is put in place, and holds it to what the merge has written chunk by chunk. */
import { createHash } from 'node:crypto';
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';
import { type HashedFile, hashFile } from '../streams/hash-file.js';

/**
 * The hash of the work file, or undefined where it is not what was merged: the chunks from the first wrong one on
 * are then no longer merged, and the next run writes them again.
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
