/** Writes a file gzipped. Compressors are used again: making one costs more than a small file. */
import { writeFile, writeFileSync } from 'node:fs';
import type { TransformOptions } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, type ZlibOptions, type ZlibReset } from 'node:zlib';
import type { ByteStream } from './run-files.js';

/**
 * Each write is a member of its own, as RFC 1952 allows: a piece is whole when its write has ended, and one call to
 * another thread is all that most files take. What is compressed is taken then: no write ever waits for that.
 */
const OPTIONS: ZlibOptions & Pick<TransformOptions, 'highWaterMark'> = {
  level: constants.Z_BEST_SPEED,
  flush: constants.Z_FINISH,
  chunkSize: 256 * 1024,
  highWaterMark: 2 ** 30,
};

const writeElsewhere = promisify(writeFile);
/** To write more takes longer than to ask another thread for it. */
const MOST_AT_ONCE = 32 * 1024;

/** Node's types do not know that it can be reset. */
type Gzip = ReturnType<typeof createGzip> & ZlibReset;

/** Compressors that no file uses any more: as many as there ever were files at once. */
const spare: Gzip[] = [];

/**
 * Compresses the content into a file that is empty. A piece may be overwritten when the next one is asked for; it
 * should be large: each is compressed by itself.
 * @param file its descriptor.
 * @param look is shown each piece while it is compressed.
 */
export async function writeGzipped(
  file: number,
  content: ByteStream,
  look: (piece: Uint8Array) => void,
): Promise<void> {
  const gzip = spare.pop() ?? (createGzip(OPTIONS) as Gzip);
  try {
    let isEmpty = true;
    for await (const piece of content) {
      if (piece.length === 0) continue;
      const compressed = compress(gzip, piece);
      look(piece);
      await write(file, await compressed);
      isEmpty = false;
    }
    if (isEmpty) await write(file, await compress(gzip, new Uint8Array(0)));
  } catch (error) {
    gzip.destroy();
    throw error;
  }
  spare.push(gzip);
}

/** One member of a gzip file. */
function compress(gzip: Gzip, piece: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Of an error in the compressor itself the write does not hear.
    gzip.once('error', reject);
    gzip.write(piece, (error) => {
      gzip.off('error', reject);
      if (error) return reject(error);
      const compressed = readAll(gzip);
      gzip.reset();
      resolve(compressed);
    });
  });
}

/** All that is ready. One `read` gives it whole, or on Node 26 one buffer of it. */
function readAll(gzip: Gzip): Buffer {
  const buffers: Buffer[] = [];
  for (let buffer = gzip.read(); buffer !== null; buffer = gzip.read()) buffers.push(buffer);
  return buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers);
}

async function write(file: number, bytes: Buffer): Promise<void> {
  if (bytes.length > MOST_AT_ONCE) await writeElsewhere(file, bytes);
  else writeFileSync(file, bytes);
}
