/** Writes a file gzipped. Compressors are used again: making one costs more than a small file. */
import type { FileHandle } from 'node:fs/promises';
import type { TransformOptions } from 'node:stream';
import { constants, createGzip, type ZlibOptions, type ZlibReset } from 'node:zlib';
import { writeAll } from '../streams/write-all.js';

/** What is compressed is taken when a write has ended: no write ever waits for that. */
const OPTIONS: ZlibOptions & TransformOptions = {
  level: constants.Z_BEST_SPEED,
  chunkSize: 256 * 1024,
  highWaterMark: 2 ** 30,
};
/** Compressed bytes that are gathered for one write to the file. */
const WRITE_BYTES = 512 * 1024;

/** Node's types do not know that it can be reset. */
type Gzip = ReturnType<typeof createGzip> & ZlibReset;

/** Compressors that no file uses any more: as many as there ever were files at once. */
const spare: Gzip[] = [];

/**
 * Compresses the content into a file that is empty. A piece may be overwritten when the next one is asked for.
 * @param look is shown each piece while it is compressed.
 */
export async function writeGzipped(
  file: FileHandle,
  content: AsyncIterable<Uint8Array>,
  look: (piece: Uint8Array) => void,
): Promise<void> {
  const gzip = spare.pop() ?? (createGzip(OPTIONS) as Gzip);
  try {
    let gathered: Buffer[] = [];
    for await (const piece of content) {
      const compressed = ended(gzip, (done) => gzip.write(piece, done));
      look(piece);
      gathered.push(...(await compressed));
      if (sizeOf(gathered) < WRITE_BYTES) continue;
      await writeAll(file, gathered);
      gathered = [];
    }
    gathered.push(...(await ended(gzip, (done) => gzip.flush(constants.Z_FINISH, done))));
    await writeAll(file, gathered);
    gzip.reset();
  } catch (error) {
    gzip.destroy();
    throw error;
  }
  spare.push(gzip);
}

/** What a write has compressed, when it has ended. */
function ended(gzip: Gzip, write: (done: (error?: Error | null) => void) => void): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    // Of an error in the compressor itself the write does not hear.
    gzip.once('error', reject);
    write((error) => {
      gzip.off('error', reject);
      if (error) return reject(error);
      const compressed: Buffer | null = gzip.read();
      resolve(compressed === null ? [] : [compressed]);
    });
  });
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((size, piece) => size + piece.length, 0);
}
