/**
 * A file on the local disk as content to upload: its length, and its bytes as often as they are asked for.
 *
 * The content is what the file held when it was asked for: a file that grows later is read up to its old length, and
 * one that shrinks is an error, because the form has named the length already.
 *
 * The file is read synchronously, in small pieces. This takes less time than waiting for a thread of the pool, and
 * memory holds one piece and what the socket has not sent yet.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { UploadContent } from './run-files.js';

/** What one write to a socket takes well; larger pieces would only hold more memory. */
const PIECE_BYTES = 64 * 1024;

/**
 * @returns the content that the file has now: bytes that are appended later are not read.
 * @throws the system's error when there is no such file.
 */
export function contentOnDisk(path: string): UploadContent {
  const { size } = statSync(path);
  return { bytes: size, open: () => readPieces(path, size) };
}

/**
 * Each piece has memory of its own, because nothing says when the socket has sent it.
 * @throws when the file has become shorter.
 */
async function* readPieces(path: string, size: number): AsyncGenerator<Uint8Array> {
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
