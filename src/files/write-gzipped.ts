/**
 * Writes and reads gzipped files. Compressors are reused, because creating one costs more than compressing a small file.
 */
import { writeFile, writeFileSync } from 'node:fs';
import type { TransformOptions } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, gunzip, gunzipSync, type ZlibOptions, type ZlibReset } from 'node:zlib';
import { adoptBuffer } from '../streams/buffer-pool.js';
import type { ByteStream } from './run-files.js';
import { MAX_STORED_BYTES, storedGzip } from './stored-gzip.js';

/**
 * Each write makes a gzip member of its own (RFC 1952, section 2.2). Its bytes are complete when the write has ended,
 * so most files need only one call to another thread. The high water mark is so large that no write waits for a reader.
 */
const OPTIONS: ZlibOptions & Pick<TransformOptions, 'highWaterMark'> = {
  level: constants.Z_BEST_SPEED,
  flush: constants.Z_FINISH,
  chunkSize: 256 * 1024,
  highWaterMark: 2 ** 30,
};

const writeInThread = promisify(writeFile);
/** Writing more bytes than this takes longer than passing them to another thread. */
const MAX_SYNC_BYTES = 32 * 1024;

/** Adds `reset`, which Node's types lack. */
type Gzip = ReturnType<typeof createGzip> & ZlibReset;

/** Compressors that are not in use; at most as many as there were files written at the same time. */
const spare: Gzip[] = [];

/**
 * Compresses the content into an empty file. A piece may be overwritten when the next one is asked for. Pieces should
 * be large, because each one is compressed separately; small ones are stored as they are.
 * @param file the descriptor of the file.
 * @param onPiece called with each piece while it is being compressed.
 */
export async function writeGzipped(
  file: number,
  content: ByteStream,
  onPiece: (piece: Uint8Array) => void,
): Promise<void> {
  await gzipPieces(content, onPiece, (compressed) => write(file, compressed));
}

/**
 * Compresses the content, as `writeGzipped` does.
 * @param take gets the compressed bytes, which it may keep. The next ones come when its promise has resolved.
 */
export async function gzipPieces(
  content: ByteStream,
  onPiece: (piece: Uint8Array) => void,
  take: (compressed: Buffer) => Promise<void>,
): Promise<void> {
  let isEmpty = true;
  for await (const piece of content) {
    if (piece.length === 0) continue;
    const member = piece.length > MAX_STORED_BYTES ? compress(piece) : storedGzip(piece);
    onPiece(piece);
    await take(await member);
    isEmpty = false;
  }
  if (isEmpty) await take(storedGzip(new Uint8Array(0)));
}

/** Compresses a piece to one member of a gzip file. */
async function compress(piece: Uint8Array): Promise<Buffer> {
  const gzip = spare.pop() ?? (createGzip(OPTIONS) as Gzip);
  try {
    const compressed = await compressWith(gzip, piece);
    spare.push(gzip);
    return compressed;
  } catch (error) {
    gzip.destroy();
    throw error;
  }
}

/**
 * Decompresses a file of one or more members.
 * @param size its bytes, if the file is whole.
 * @returns a buffer of the pool, if it is not small.
 * @throws when the content has more or fewer bytes, or cannot be decompressed.
 */
export async function unzipped(compressed: Buffer, size: number): Promise<Buffer> {
  // Room for one byte more than there should be: so the end is found without a second buffer.
  const room = Math.max(size + 1, MIN_READ_BYTES);
  const options = { chunkSize: room, maxOutputLength: room };
  const isLarge = size > MAX_SYNC_CONTENT_BYTES;
  const content = isLarge ? await unzipInThread(compressed, options) : gunzipSync(compressed, options);
  if (content.length !== size) throw new Error('it is longer or shorter than it was');
  if (content.buffer.byteLength === room) adoptBuffer(content);
  return content;
}

const unzipInThread = promisify(gunzip);
/** Node gives smaller buffers a share of one memory. */
const MIN_READ_BYTES = 64 * 1024;
/** Decompressing more bytes than this blocks the process for longer than another thread costs: some 5 ms. */
const MAX_SYNC_CONTENT_BYTES = 4 * 1024 * 1024;

function compressWith(gzip: Gzip, piece: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The callback of write does not receive errors of the compressor itself.
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

/** Reads all bytes that are ready. One `read` returns all of them, on Node 26 only one buffer. */
function readAll(gzip: Gzip): Buffer {
  const buffers: Buffer[] = [];
  for (let buffer = gzip.read(); buffer !== null; buffer = gzip.read()) buffers.push(buffer);
  return buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers);
}

async function write(file: number, bytes: Buffer): Promise<void> {
  if (bytes.length > MAX_SYNC_BYTES) await writeInThread(file, bytes);
  else writeFileSync(file, bytes);
}
