/**
 * The output while it grows, a file on this disk (rule "A file appears whole", docs/architecture.md#a-file-appears-whole).
 * Whoever opens it says how much of it counts: what is longer is cut off.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createWrittenHash, type WrittenHash } from '../streams/written-hash.js';

export interface WorkFile {
  /** Length in bytes. */
  readonly length: number;
  /** Appends and makes durable; returns the SHA-256 of what was appended, hex. */
  append(...pieces: Uint8Array[]): Promise<string>;
  close(): Promise<void>;
}

/** Length and hash of the work file, where this process has written it from its first byte on. */
export interface KnownWork {
  written: WrittenHash | undefined;
}

/**
 * Opens the work file of a run at the end of what counts of it.
 * @param lengthOf is given the size on disk and says how many bytes of it count, at most that many.
 */
export async function openWorkFile(
  path: string,
  known: KnownWork,
  lengthOf: (size: number) => Promise<number>,
): Promise<WorkFile> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const length = await lengthOf(size);
    if (size > length) await file.truncate(length);
    if (length === 0) known.written = createWrittenHash(file);
    return growingFile(file, length, known);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** A hash takes less than 2 GiB at once. */
const HASHED_AT_ONCE = 1024 * 1024 * 1024;

function hashable(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / HASHED_AT_ONCE);
  return Array.from({ length: count }, (_, at) =>
    bytes.subarray(at * HASHED_AT_ONCE, (at + 1) * HASHED_AT_ONCE),
  );
}

function growingFile(file: FileHandle, from: number, { written }: KnownWork): WorkFile {
  let length = from;
  return {
    get length() {
      return length;
    },
    append: async (...given) => {
      const pieces = given.flatMap(hashable);
      const hash = createHash('sha256');
      const write = async () => {
        const writing = writeAll(file, pieces);
        for (const piece of pieces) hash.update(piece);
        await writing;
      };
      await (written === undefined ? write() : written.append(file, pieces, write));
      for (const piece of pieces) length += piece.length;
      await file.datasync();
      return hash.digest('hex');
    },
    close: () => file.close(),
  };
}

/** Node tells what one call has written as a number of 32 bits. */
const MOST_AT_ONCE = 1024 * 1024 * 1024;

/**
 * Writes pieces one behind the other, in one call of the system where that takes all of it.
 * @param mostAtOnce bytes that one call is given.
 */
export async function writeAll(
  file: FileHandle,
  pieces: readonly Uint8Array[],
  mostAtOnce = MOST_AT_ONCE,
): Promise<void> {
  let rest = pieces.filter(({ length }) => length > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(begin(rest, mostAtOnce));
    rest = rest.flatMap((piece) => {
      const written = Math.min(bytesWritten, piece.length);
      bytesWritten -= written;
      return written === piece.length ? [] : [piece.subarray(written)];
    });
  }
}

/** The first bytes of the pieces together. */
function begin(pieces: readonly Uint8Array[], size: number): Uint8Array[] {
  let room = size;
  return pieces.flatMap((piece) => {
    const taken = piece.subarray(0, room);
    room -= taken.length;
    return taken.length === 0 ? [] : [taken];
  });
}
