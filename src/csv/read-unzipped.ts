/** A file's bytes from the disk, unzipped where it is gzip. */
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { PIECE_BYTES, readPieces } from '../streams/read-pieces.js';
import { unreadable } from './unreadable.js';

export interface ReadOptions {
  readonly signal?: AbortSignal;
  /** Sees the bytes as they are on disk, in order. */
  readonly onRaw?: (bytes: Uint8Array) => void;
}

/** Whether a file is gzip, by its first two bytes and not by its name (RFC 1952, 2.3.1). */
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

/**
 * Each piece is valid until the next one is asked for.
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
    const raw = tapped(readPieces(file.path, start), onRaw);
    // Errors of the disk reach the loop too: pipeline destroys the gunzip stream with them.
    const unzipped = file.gzip
      ? pipeline(copied(raw), createGunzip({ chunkSize: PIECE_BYTES }), () => {})
      : raw;
    for await (const piece of unzipped) {
      signal?.throwIfAborted();
      yield piece;
    }
  } catch (cause) {
    throw signal?.aborted ? signal.reason : unreadable(file.path, cause);
  }
}

async function* tapped(
  disk: AsyncIterable<Buffer>,
  onRaw: ReadOptions['onRaw'],
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of disk) {
    onRaw?.(piece);
    yield piece;
  }
}

/** For who takes pieces while it is still at work on those before. */
async function* copied(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
