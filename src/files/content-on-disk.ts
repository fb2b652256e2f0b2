/**
 * A file on the local disk as content to upload: its length, and its bytes each time they are asked for.
 *
 * The length is fixed at the start, because the upload form names it. If the file grows later, it is read up to the old
 * length; if it shrinks, that is an error.
 *
 * The file is read synchronously, in small pieces. This is faster than waiting for a thread of the pool, and memory
 * holds one piece and the bytes that the socket has not sent yet.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { TroubleError } from '../errors.js';
import type { UploadContent } from '../types.js';

/** A good size for one write to a socket; larger pieces would only take more memory. */
const PIECE_BYTES = 64 * 1024;

/**
 * @returns the content that the file has now; bytes that are appended later are not read.
 * @throws the system's error when the file does not exist.
 */
export function contentOnDisk(path: string): UploadContent {
  const { size } = statSync(path);
  return { bytes: size, open: () => readPieces(path, size) };
}

/**
 * Each piece has its own memory, because it is unknown when the socket has sent it.
 * @throws TroubleError `CHUNK_FILE_SHORT` when the file has become shorter.
 */
async function* readPieces(path: string, size: number): AsyncGenerator<Uint8Array> {
  const file = openSync(path, 'r');
  try {
    for (let at = 0; at < size; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size - at));
      const length = readSync(file, piece, 0, piece.length, at);
      if (length === 0) throw cutShort(path, size, at);
      yield piece.subarray(0, length);
      at += length;
    }
  } finally {
    closeSync(file);
  }
}

/** The next start finds that the file is not what was cut, and cuts it again from the source. */
function cutShort(path: string, size: number, found: number): TroubleError {
  return new TroubleError(
    'CHUNK_FILE_SHORT',
    `${path} became shorter while it was sent: ${found} of ${size} bytes`,
    {
      hint: 'find what changes files in the state folder, then run the same command again: it writes the file anew from the source',
      facts: { path, bytes: size, found },
    },
  );
}
