/** Reads a file's bytes from the disk, and unzips gzip. */
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { PIECE_BYTES, readPieces } from '../streams/read-pieces.js';
import { unreadable } from './source-files.js';

export interface ReadOptions {
  readonly signal?: AbortSignal;
  /** Gets the bytes as they are on disk, in order. */
  readonly onRaw?: (bytes: Uint8Array) => void;
}

/**
 * Reads the bytes in pieces. Each piece is valid only until the next one is requested.
 *
 * @param start offset on disk; 0 for gzip.
 * @throws SourceError `SOURCE_MISSING` or `SOURCE_UNREADABLE`, broken gzip included; the signal's reason.
 */
export async function* readUnzipped(
  file: { readonly path: string; readonly gzip: boolean },
  start: number,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { signal, onRaw } = options;
  try {
    const raw = reportPieces(readPieces(file.path, start), onRaw);
    // Disk errors reach the loop too, because `pipeline` destroys the gunzip stream with them.
    const unzipped = file.gzip
      ? pipeline(copyPieces(raw), createGunzip({ chunkSize: PIECE_BYTES }), () => {})
      : raw;
    for await (const piece of unzipped) {
      signal?.throwIfAborted();
      yield piece;
    }
  } catch (cause) {
    throw signal?.aborted ? signal.reason : unreadable(file.path, cause);
  }
}

/** Whether a file is gzip, by its first two bytes (RFC 1952, 2.3.1), not by its name. */
export async function isGzip(path: string): Promise<boolean> {
  try {
    const file = await open(path);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
      return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

async function* reportPieces(
  disk: AsyncIterable<Buffer>,
  onRaw: ReadOptions['onRaw'],
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of disk) {
    onRaw?.(piece);
    yield piece;
  }
}

/** Copies each piece, for a consumer that requests the next piece before it has used the last one. */
async function* copyPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
