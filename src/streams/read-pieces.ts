/**
 * Reads a file in pieces. Fills two buffers in turn, so that pieces need no allocation, and reads the next piece while
 * the consumer works on the last one.
 */
import { open } from 'node:fs/promises';
import { withPath } from './system-error.js';

/** Large enough that a read by another thread costs little, compared with the work on the bytes. */
export const PIECE_BYTES = 512 * 1024;

/**
 * Reads a file from an offset on. Each piece is valid until the next one is requested.
 * @throws the system's error with the path, such as `ENOENT`, when the file cannot be read.
 */
export async function* readPieces(path: string, start = 0): AsyncGenerator<Buffer, void, undefined> {
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
