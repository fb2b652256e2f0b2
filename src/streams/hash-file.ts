/** Length and hash of a file's content. */
import { createHash } from 'node:crypto';
import { readPieces } from './read-pieces.js';

export interface HashedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * @param onPiece gets each piece that is read. The piece is valid until `onPiece` settles.
 * @returns undefined if there is no such file.
 */
export async function hashFile(
  path: string,
  onPiece?: (piece: Buffer) => Promise<void>,
): Promise<HashedFile | undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of readPieces(path)) {
      hash.update(piece);
      bytes += piece.length;
      await onPiece?.(piece);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return { bytes, sha256: hash.digest('hex') };
}
