/**
 * Length and hash of a file that this process writes from its first byte on: it is not read for them. Invariant:
 * there are none where its size, times or inode tell that anybody else has been at it.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { HashedFile } from './hash-file.js';
import { stampAt, stampOf } from './stamp.js';

export interface WrittenHash {
  /**
   * @param file the same one, which may have been closed and opened since the last call.
   * @param write appends these pieces to it.
   */
  append(file: FileHandle, pieces: readonly Uint8Array[], write: () => Promise<void>): Promise<void>;
  /** Of what stands under this path; undefined where it may be anything else than what was appended. */
  of(path: string): HashedFile | undefined;
}

/** @param file empty. */
export function createWrittenHash(file: FileHandle): WrittenHash {
  const hash = createHash('sha256');
  let bytes = 0;
  let left = stampOf(file.fd, bytes);
  return {
    append: async ({ fd }, pieces, write) => {
      const isAsLeft = left !== undefined && left === stampOf(fd, bytes);
      left = undefined;
      const writing = write();
      for (const piece of pieces) {
        hash.update(piece);
        bytes += piece.length;
      }
      await writing;
      if (isAsLeft) left = stampOf(fd, bytes);
    },
    of: (path) => {
      const isAsLeft = left !== undefined && left === stampAt(path, bytes);
      return isAsLeft ? { bytes, sha256: hash.copy().digest('hex') } : undefined;
    },
  };
}
