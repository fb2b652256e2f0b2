/** A file of the disk as a form's encoder takes one, read while it is sent. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { FileLike } from 'form-data-encoder';

/** Read at once: that takes less than waiting for another thread. The encoder would copy what is larger. */
const PIECE_BYTES = 64 * 1024;

/** @throws the system's error when there is no such file. */
export function fileOnDisk(path: string, name: string, type: string): FileLike {
  const { size } = statSync(path);
  return {
    name,
    type,
    size,
    lastModified: 0,
    [Symbol.toStringTag]: 'File',
    stream: () => readPieces(path, size),
  };
}

/**
 * Each piece has memory of its own: when it has been sent nobody tells.
 * @throws when the file has become shorter.
 */
async function* readPieces(path: string, size: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const file = openSync(path, 'r');
  try {
    for (let at = 0; at < size; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size - at));
      const length = readSync(file, piece, 0, piece.length, at);
      if (length === 0) throw new Error(`${path} is shorter than it was`);
      yield piece.subarray(0, length);
      at += length;
    }
  } finally {
    closeSync(file);
  }
}
