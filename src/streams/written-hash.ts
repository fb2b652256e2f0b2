/**
 * Length and hash of a file that this process writes from its first byte on, without reading it. Invariant: both become
 * unknown when the file's size, times or inode show that another program has changed it.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { HashedFile } from './hash-file.js';
import { stampAt, stampOf } from './stamp.js';

export interface WrittenHash {
  /**
   * Hashes pieces while `write` appends them to the file.
   * @param file the same file each time. It may be closed and opened again between calls.
   */
  append(file: FileHandle, pieces: readonly Uint8Array[], write: () => Promise<void>): Promise<void>;
  /** Length and hash of the file at this path; undefined if it may hold other bytes than the appended ones. */
  of(path: string): HashedFile | undefined;
}

/** @param file must be empty. */
export function createWrittenHash(file: FileHandle): WrittenHash {
  const hash = createHash('sha256');
  let bytes = 0;
  /** The file's state after the last append; undefined after a foreign change and while an append runs. */
  let lastStamp = stampOf(file.fd, bytes);
  return {
    append: async ({ fd }, pieces, write) => {
      const isUnchanged = lastStamp !== undefined && lastStamp === stampOf(fd, bytes);
      lastStamp = undefined;
      const writing = write();
      for (const piece of pieces) {
        hash.update(piece);
        bytes += piece.length;
      }
      await writing;
      if (isUnchanged) lastStamp = stampOf(fd, bytes);
    },
    of: (path) => {
      const isUnchanged = lastStamp !== undefined && lastStamp === stampAt(path, bytes);
      return isUnchanged ? { bytes, sha256: hash.copy().digest('hex') } : undefined;
    },
  };
}
