/**
 * The local files from which a publication is made: the work file, in which the output grows (rule "A file appears
 * whole", docs/architecture.md#a-file-appears-whole), and small files that are written whole. All of them are put in the
 * output store in the end.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { createWrittenHash, type WrittenHash } from '../streams/written-hash.js';

export interface WorkFile {
  /** Length in bytes. */
  readonly length: number;
  /** Appends and makes durable; returns the SHA-256 of what was appended, hex. */
  append(...pieces: Uint8Array[]): Promise<string>;
  close(): Promise<void>;
}

/** Length and hash of the work file, if this process has written all of it. */
export interface KnownWork {
  written: WrittenHash | undefined;
}

/**
 * Opens the work file of a run at the end of its valid part; the rest is cut off.
 * @param lengthOf is given the size on disk and returns how many bytes are valid, at most that many.
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

/** A hash takes less than 2 GiB in one update. */
const MAX_HASH_BYTES = 1024 * 1024 * 1024;

function hashable(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / MAX_HASH_BYTES);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * MAX_HASH_BYTES, (index + 1) * MAX_HASH_BYTES),
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

/** Node reports the bytes of one write as a number of 32 bits. */
const MAX_WRITE_BYTES = 1024 * 1024 * 1024;

/**
 * Writes pieces one after the other, in one system call if that takes all of them.
 * @param maxBytes of one system call.
 */
export async function writeAll(
  file: FileHandle,
  pieces: readonly Uint8Array[],
  maxBytes = MAX_WRITE_BYTES,
): Promise<void> {
  let rest = pieces.filter(({ length }) => length > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(firstBytes(rest, maxBytes));
    rest = rest.flatMap((piece) => {
      const written = Math.min(bytesWritten, piece.length);
      bytesWritten -= written;
      return written === piece.length ? [] : [piece.subarray(written)];
    });
  }
}

/** The first bytes of the pieces, at most `size` together. */
function firstBytes(pieces: readonly Uint8Array[], size: number): Uint8Array[] {
  let room = size;
  return pieces.flatMap((piece) => {
    const taken = piece.subarray(0, room);
    room -= taken.length;
    return taken.length === 0 ? [] : [taken];
  });
}

/**
 * The run's work file, in which its output grows until it is published. It is always on the local disk.
 * @param partial of a partial publication at a deadline, which has a work file of its own.
 */
export function workPathOf(output: string, run: string, partial = false): string {
  return `${output}.${run}${partial ? '.deadline' : ''}.partial`;
}

/** Where a file of a run is written before it is put in place under `name`. */
export function waitingPathOf(name: string, run: string): string {
  return `${name}.${run}.partial`;
}

/**
 * Writes a file that appears whole, 0600.
 * @param fill is given a function that appends a piece; a piece may be overwritten after the function returns.
 */
export async function writeLocalFile(
  path: string,
  fill: (append: (piece: string | Uint8Array) => void) => Promise<void>,
): Promise<void> {
  await writeFileAtomically(path, 0o600, (file) => fill((piece) => writeFileSync(file, piece)));
}

export async function isLocalFile(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A missing file is fine. */
export async function removeLocalFile(path: string): Promise<void> {
  await rm(path, { force: true });
}
