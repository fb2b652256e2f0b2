/** What a file is recognized by: its stamp, which is cheap, or the length and hash of its content. */

import { createHash } from 'node:crypto';
import { type BigIntStats, fstatSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { readPieces } from './read-pieces.js';
import { codeOf } from './system-error.js';

export interface HashedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * @param onPiece gets each piece that is read. The piece is valid until `onPiece` settles.
 * @returns undefined if there is no such file.
 */
export async function hashFile(
  path: string,
  onPiece?: (piece: Buffer) => Promise<void>,
): Promise<HashedFile | undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of readPieces(path)) {
      hash.update(piece);
      bytes += piece.length;
      await onPiece?.(piece);
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/**
 * The stamp of an open file: size, times in nanoseconds, device and inode. Equal stamps mean an unchanged file, as far as
 * the system shows. Undefined if its length is not `bytes`.
 */
function stampOf(file: number, bytes: number): string | undefined {
  return toStamp(fstatSync(file, { bigint: true }), bytes);
}

/** The stamp of the file at a path; undefined if there is no file or its length is not `bytes`. */
export function stampAt(path: string, bytes?: number): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && toStamp(found, bytes);
}

/** Size, times and inode, without the device. */
export function stampText({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}-${mtimeNs}-${ctimeNs}-${ino}`;
}

/** When the file of a stamp was written last; undefined if the stamp is of another form. */
export function stampTime(stamp: string): Date | undefined {
  const time = new Date(Number(stamp.split('-')[1]) / 1e6);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** The stamp for the facts that `stat` returned; undefined if the length is not `bytes`. */
export function toStamp(found: BigIntStats, bytes?: number): string | undefined {
  const isWhole = bytes === undefined || found.size === BigInt(bytes);
  return isWhole ? `${found.dev}-${stampText(found)}` : undefined;
}

/**
 * Length and hash of a file that this process writes from its first byte on, without reading it. Invariant: both become
 * unknown when the file's size, times or inode show that another program has changed it.
 */
export interface WrittenHash {
  /**
   * Hashes pieces while `write` appends them to the file.
   * @param file the same file each time. It may be closed and opened again between calls.
   * @returns the hash of all appended bytes so far, hex.
   */
  append(file: FileHandle, pieces: readonly Uint8Array[], write: () => Promise<void>): Promise<string>;
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
      return hash.copy().digest('hex');
    },
    of: (path) => {
      const isUnchanged = lastStamp !== undefined && lastStamp === stampAt(path, bytes);
      return isUnchanged ? { bytes, sha256: hash.copy().digest('hex') } : undefined;
    },
  };
}
