/** Writes to open files. */
import type { FileHandle } from 'node:fs/promises';

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
