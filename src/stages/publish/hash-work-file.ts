/** Reads the whole work file once more, to hash it and to find a stretch that is not as it was merged. */
import { createHash } from 'node:crypto';
import type { Checkpoint, Stretch } from '../../checkpoint/checkpoint.js';
import { isLocalFile } from '../../files/work-file.js';
import type { RunContext } from '../../run-context.js';
import type { HashedFile } from '../../streams/file-identity.js';
import { readPieces } from '../../streams/read-pieces.js';

type HashWorkNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'nextStretch' | 'recordUnmerged'>;
};

/**
 * Hashes the work file, and compares each stretch in it with the hash of the merged rows. That is the hash of the stretch,
 * or of the file up to its end, see `WorkFile.append`.
 * @returns undefined if the file differs. The stretches from the first wrong one on are then unmerged, and the next run
 *   writes them again.
 */
export async function hashWorkFile(
  { id, checkpoint }: HashWorkNeeds,
  path: string,
): Promise<HashedFile | undefined> {
  const all = createHash('sha256');
  let own = createHash('sha256');
  let bytes = 0;
  const hashed = () => ({ bytes, sha256: all.copy().digest('hex') });
  const unmerge = async ({ firstRecord }: Stretch): Promise<undefined> => {
    await checkpoint.recordUnmerged(id, firstRecord);
  };
  let stretch = await checkpoint.nextStretch(id, 0);
  for await (const piece of (await isLocalFile(path)) ? readPieces(path) : []) {
    for (let rest = piece; rest.length > 0; ) {
      // Nothing may follow the last stretch. The next run cuts it off.
      if (stretch === undefined) return undefined;
      const next = rest.subarray(0, stretch.workEnd - bytes);
      for (const hash of [all, own]) hash.update(next);
      bytes += next.length;
      rest = rest.subarray(next.length);
      if (bytes < stretch.workEnd) continue;
      const isRight = [null, hashed().sha256, own.digest('hex')].includes(stretch.sha256);
      if (!isRight) return unmerge(stretch);
      own = createHash('sha256');
      stretch = await checkpoint.nextStretch(id, stretch.lastRecord);
    }
  }
  return stretch === undefined ? hashed() : unmerge(stretch);
}
