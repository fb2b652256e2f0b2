/** Length and hash of a file's content. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

export interface HashedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * @param look is shown each piece as it is read; valid until it returns.
 * @returns undefined where there is no such file.
 */
export async function hashFile(
  path: string,
  look?: (piece: Buffer) => Promise<void>,
): Promise<HashedFile | undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of readPieces(path)) {
      hash.update(piece);
      bytes += piece.length;
      await look?.(piece);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return { bytes, sha256: hash.digest('hex') };
}

// A file's bytes piece by piece, in two buffers that are filled in turn: reading makes no garbage.

/** Large enough that asking another thread for it costs little beside the work on it. */
export const PIECE_BYTES = 512 * 1024;

/**
 * The bytes of a file from an offset on; the next piece is read while one is looked at.
 * Each piece is valid until the next one is asked for.
 */
export async function* readPieces(path: string, start = 0): AsyncGenerator<Buffer, void, undefined> {
  const file = await open(path);
  let position = start;
  let ahead: Promise<Buffer> | undefined;
  const read = (into: Buffer): void => {
    ahead = file.read(into, 0, into.length, position).then(({ bytesRead }) => {
      position += bytesRead;
      return into.subarray(0, bytesRead);
    });
    // Whoever asks for the piece hears of it; nobody may.
    ahead.catch(() => undefined);
  };
  try {
    let filling = Buffer.allocUnsafeSlow(PIECE_BYTES);
    let free: typeof filling | undefined;
    read(filling);
    for (;;) {
      const piece = await ahead!;
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
