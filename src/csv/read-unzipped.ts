/** A file's bytes from the disk, unzipped where it is gzip. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { unreadable } from './unreadable.js';

export const READ_BYTES = 256 * 1024;

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
 * @param start offset on disk; 0 for gzip.
 * @throws SourceError `SOURCE_MISSING` or `SOURCE_UNREADABLE`, broken gzip included; the signal's reason.
 */
export async function* readUnzipped(
  file: { readonly path: string; readonly gzip: boolean },
  start: number,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { signal, onRaw } = options;
  const disk = createReadStream(file.path, { start, highWaterMark: READ_BYTES });
  const raw = onRaw === undefined ? disk : tapped(disk, onRaw);
  try {
    // Errors of the disk reach the loop too: pipeline destroys the gunzip stream with them.
    const unzipped = file.gzip ? pipeline(raw, createGunzip({ chunkSize: READ_BYTES }), () => {}) : raw;
    for await (const piece of unzipped) {
      signal?.throwIfAborted();
      yield piece;
    }
  } catch (cause) {
    throw signal?.aborted ? signal.reason : unreadable(file.path, cause);
  } finally {
    disk.destroy();
  }
}

async function* tapped(
  disk: AsyncIterable<Buffer>,
  onRaw: (bytes: Uint8Array) => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of disk) {
    onRaw(piece);
    yield piece;
  }
}
