/**
 * Writes and reads gzipped files. Compressors are reused, because creating one costs more than compressing a small file.
 * Very small pieces are stored without compression. Any program for gzip reads both.
 */
import { createHash } from 'node:crypto';
import { writeFile, writeFileSync } from 'node:fs';
import type { TransformOptions } from 'node:stream';
import { promisify } from 'node:util';
import {
  constants,
  crc32,
  createGzip,
  gunzip,
  gunzipSync,
  type ZlibOptions,
  type ZlibReset,
} from 'node:zlib';
import type { HashedFile } from '../streams/file-identity.js';
import { adoptBuffer, freeMemory, giveBack, takeBuffer } from '../streams/large-buffers.js';
import type { ByteStream } from './run-files.js';

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

/** The most bytes of content that are stored uncompressed. A larger one is worth its compression. */
const MAX_STORED_BYTES = 16 * 1024;

/** Magic number, deflate, no flags, no time, no extra flags, unknown system; then the mark of a last, stored block. */
const HEAD = Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1);
/** The block's length and its complement, two bytes each. */
const LENGTHS_BYTES = 4;
/** The checksum and the length of the content, four bytes each. */
const TRAILER_BYTES = 8;

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

/**
 * A gzip member without compression, with one stored block (RFC 1952, RFC 1951 section 3.2.4). For so few bytes,
 * compressing takes longer than everything else that is done with a file.
 * @param content at most `MAX_STORED_BYTES`.
 */
function storedGzip(content: Uint8Array): Buffer {
  const size = content.length;
  const start = HEAD.length + LENGTHS_BYTES;
  const file = Buffer.allocUnsafe(start + size + TRAILER_BYTES);
  HEAD.copy(file);
  file.writeUInt16LE(size, HEAD.length);
  file.writeUInt16LE(size ^ 0xffff, HEAD.length + 2);
  file.set(content, start);
  file.writeUInt32LE(crc32(content), start + size);
  file.writeUInt32LE(size, start + size + 4);
  return file;
}

/** Compresses a piece to one member of a gzip file, in a buffer of `takeBuffer`. */
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

/** Decompresses a file, as `unzipped` does. @throws also when the content has another hash. */
export async function unzippedSame(compressed: Buffer, { bytes, sha256 }: HashedFile): Promise<Buffer> {
  const content = await unzipped(compressed, bytes);
  if (createHash('sha256').update(content).digest('hex') === sha256) return content;
  throw new Error('its content is not what was written');
}

/**
 * Decompresses a file of one or more members.
 * @param size its bytes, if the file is whole.
 * @returns a buffer of `takeBuffer`, if it is not small. Of a stored member, a view of
 *   `compressed`, whose checksum is not checked: the caller knows the hash of the content.
 * @throws when the content has more or fewer bytes, or cannot be decompressed.
 */
export async function unzipped(compressed: Buffer, size: number): Promise<Buffer> {
  const stored = storedContent(compressed);
  if (stored?.length === size) return stored;
  // Room for one byte more than there should be: so the end is found without a second buffer.
  const room = Math.max(size + 1, MIN_READ_BYTES);
  const options = { chunkSize: room, maxOutputLength: room };
  const isLarge = size > MAX_SYNC_CONTENT_BYTES;
  const content = isLarge ? await unzipInThread(compressed, options) : gunzipSync(compressed, options);
  if (content.length !== size) throw new Error('it is longer or shorter than it was');
  if (content.buffer.byteLength === room) adoptBuffer(content);
  return content;
}

/** The content of a file that is one stored member; undefined for any other file. */
function storedContent(file: Buffer): Buffer | undefined {
  const start = HEAD.length + LENGTHS_BYTES;
  if (file.length < start + TRAILER_BYTES || !file.subarray(0, HEAD.length).equals(HEAD)) return undefined;
  const size = file.readUInt16LE(HEAD.length);
  return file.length === start + size + TRAILER_BYTES ? file.subarray(start, start + size) : undefined;
}

const unzipInThread = promisify(gunzip);
/** Node allocates smaller buffers together in one memory. */
const MIN_READ_BYTES = 64 * 1024;
/** To decompress more bytes than this blocks the process longer than to use another thread: about 5 ms. */
const MAX_SYNC_CONTENT_BYTES = 4 * 1024 * 1024;

function compressWith(gzip: Gzip, piece: Uint8Array): Promise<Buffer> {
  const outputs: Buffer[] = [];
  const onData = (output: Buffer): number => outputs.push(output);
  gzip.on('data', onData);
  return new Promise((resolve, reject) => {
    // The callback of write does not receive errors of the compressor itself.
    gzip.once('error', reject);
    gzip.write(piece, (error) => {
      gzip.off('error', reject);
      if (error) return reject(error);
      while (gzip.read() !== null);
      gzip.off('data', onData);
      gzip.reset();
      resolve(takeOutputs(outputs));
    });
  });
}

/** Copies what a compressor has given, and frees its memory: a compressor fills one memory after the other. */
function takeOutputs(outputs: readonly Buffer[]): Buffer {
  const all = takeBuffer(outputs.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const output of outputs) {
    all.set(output, at);
    at += output.length;
    const isFull = output.byteOffset + output.length === output.buffer.byteLength;
    if (isFull) freeMemory(output);
  }
  return all;
}

async function write(file: number, bytes: Buffer): Promise<void> {
  if (bytes.length > MAX_SYNC_BYTES) await writeInThread(file, bytes);
  else writeFileSync(file, bytes);
  giveBack(bytes);
}
