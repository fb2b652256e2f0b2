/**
 * Reads a file in pieces. Fills two buffers in turn, so that pieces need no allocation, and reads the next piece while
 * the consumer works on the last one. A small file is read at once: another thread costs more than the reading.
 */
import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { giveBack, takeBuffer } from './large-buffers.js';
import { withPath } from './system-error.js';

/** Large enough that a read by another thread costs little, compared with the work on the bytes. */
export const PIECE_BYTES = 512 * 1024;

/**
 * If the file has become a pipe meanwhile, opening it does not wait, and reading it fails. Windows lacks the second
 * flag.
 */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** A source may have thousands of files of a few KB. */
const SMALL_BYTES = 128 * 1024;

/**
 * Reads a file from an offset on. Each piece is valid until the next one is requested.
 * @param bytes its size, if the caller has seen that it is a file of that size: it is not looked at again.
 * @throws the system's error with the path, such as `ENOENT`, when the file cannot be read.
 */
export async function* readPieces(
  path: string,
  start = 0,
  bytes = sizeOf(path),
): AsyncGenerator<Buffer, void, undefined> {
  const small = readSmall(path, start, bytes);
  if (small !== undefined) {
    try {
      if (small.length > 0) yield small;
    } finally {
      giveBack(small);
    }
    return;
  }
  const file = await open(path);
  let offset = start;
  let ahead: Promise<Buffer> | undefined;
  const read = (into: Buffer): void => {
    ahead = file.read(into, 0, into.length, offset).then(({ bytesRead }) => {
      offset += bytesRead;
      return into.subarray(0, bytesRead);
    });
    // Avoids an unhandled rejection when the consumer stops early.
    ahead.catch(() => undefined);
  };
  try {
    let filling = Buffer.allocUnsafeSlow(PIECE_BYTES);
    let free: typeof filling | undefined;
    read(filling);
    for (;;) {
      const piece = await ahead!.catch((error: unknown) => {
        throw withPath(error, path);
      });
      if (piece.length === 0) return;
      [free, filling] = [filling, free ?? Buffer.allocUnsafeSlow(PIECE_BYTES)];
      read(filling);
      yield piece;
    }
  } finally {
    await ahead?.catch(() => undefined);
    await file.close();
  }
}

/**
 * The first bytes of a file.
 * @param bytes how many at most.
 * @param flags with which the file is opened.
 * @throws the system's error.
 */
export async function readBeginning(
  path: string,
  bytes: number,
  flags: string | number = 'r',
): Promise<Buffer> {
  const file = await open(path, flags);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Puts pieces that belong to the reader into one buffer. A single piece, the usual case, is not copied. */
export async function readWhole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  const [only] = pieces;
  if (only === undefined || pieces.length > 1) return Buffer.concat(pieces);
  return Buffer.isBuffer(only) ? only : Buffer.from(only.buffer, only.byteOffset, only.byteLength);
}

/** @returns a buffer of `takeBuffer`; undefined if the file is not small, or is no regular file. */
function readSmall(path: string, start: number, size: number | undefined): Buffer | undefined {
  if (size === undefined || size - start > SMALL_BYTES) return undefined;
  const file = openSync(path, READ_AT_ONCE);
  const bytes = takeBuffer(Math.max(size - start, 0) + 1);
  try {
    let filled = 0;
    for (;;) {
      const read = readSync(file, bytes, filled, bytes.length - filled, start + filled);
      if (read === 0) return bytes.subarray(0, filled);
      filled += read;
      if (filled === bytes.length) break;
    }
    giveBack(bytes);
    return undefined;
  } catch (error) {
    giveBack(bytes);
    throw withPath(error, path);
  } finally {
    closeSync(file);
  }
}

/** @returns undefined if it is no regular file, or if `stat` fails: opening it then gives the error. */
function sizeOf(path: string): number | undefined {
  try {
    const found = statSync(path);
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}

/** Passes pieces on, each once `see` has seen it. */
export async function* watchPieces(
  pieces: AsyncIterable<Buffer>,
  see: (piece: Buffer) => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) {
    see(piece);
    yield piece;
  }
}
