/** Length and hash of a file's content. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface HashedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * @param look is shown each piece as it is read.
 * @returns undefined where there is no such file.
 */
export async function hashFile(
  path: string,
  look?: (piece: Buffer) => Promise<void>,
): Promise<HashedFile | undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of createReadStream(path)) {
      hash.update(piece as Buffer);
      bytes += (piece as Buffer).length;
      await look?.(piece as Buffer);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return { bytes, sha256: hash.digest('hex') };
}
