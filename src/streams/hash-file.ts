/** Length and hash of a file's content. */
import { createHash } from 'node:crypto';
import { readPieces } from './read-pieces.js';

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
