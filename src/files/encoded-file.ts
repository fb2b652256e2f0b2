/**
 * The stored form of an output that is not a plain CSV. The work file stays a CSV; at the end, the file that is published
 * is made from it, beside it.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { ConfigError } from '../errors.js';
import type { OutputFormat } from '../output-format.js';
import { syncFolder } from '../streams/atomic-file.js';
import { type HashedFile, hashFile } from '../streams/file-identity.js';
import { codeOf } from '../streams/system-error.js';
import type { OutputStore } from './output-store.js';
import { writeAll } from './work-file.js';

const PIECE_BYTES = 256 * 1024;

/** Node's zstd, which Node has from version 22.15 on and the types of Node 20 lack. */
const { createZstdCompress, createZstdDecompress, constants } = zlib as typeof zlib & {
  readonly createZstdCompress?: (options: object) => Transform;
  readonly createZstdDecompress?: () => Transform;
  readonly constants: { readonly ZSTD_c_checksumFlag?: number };
};

/** @throws ConfigError `ZSTD_MISSING` when this Node cannot write or read the format. */
export function checkCompression(format: OutputFormat): void {
  if (format !== 'csv.zst' || createZstdCompress !== undefined) return;
  throw new ConfigError(
    'ZSTD_MISSING',
    'an output that ends in .zst needs zstd, which this Node does not have',
    {
      hint: 'run foliopipe with Node 22.15 or newer, or let output.path end in .csv.gz',
    },
  );
}

/** The file that is made from a work file. */
export function encodedPathOf(workFile: string): string {
  return `${workFile}.out`;
}

/** The folder beside that file for what does not fit into memory while it is made. */
export function encodingFolderOf(workFile: string): string {
  return `${encodedPathOf(workFile)}.tmp`;
}

/** Removes the file that was made from a work file, complete or not. */
export async function removeEncoded(workFile: string): Promise<void> {
  await rm(encodingFolderOf(workFile), { recursive: true, force: true });
  await rm(encodedPathOf(workFile), { force: true });
}

/**
 * Makes the file from a work file, with mode 0600 and synced. What a killed process has left is replaced.
 * @param write writes into the empty file at the path.
 * @throws what `write` throws; then there is no file.
 */
export async function encodeFile(
  workFile: string,
  write: (path: string, file: FileHandle) => Promise<void>,
): Promise<HashedFile> {
  await removeEncoded(workFile);
  const path = encodedPathOf(workFile);
  const file = await open(path, 'wx', 0o600);
  try {
    await write(path, file);
    await file.sync();
    await syncFolder(dirname(path));
  } catch (error) {
    await removeEncoded(workFile);
    throw error;
  } finally {
    await file.close();
  }
  return (await hashFile(path))!;
}

/**
 * Compresses a file into another one, as a single gzip member or zstd frame: some readers stop after the first one. The
 * fastest level of gzip takes a quarter of the time of the usual one, for a file that is a third larger.
 */
export async function compressFile(
  from: string,
  into: FileHandle,
  format: 'csv.gz' | 'csv.zst',
  signal: AbortSignal,
): Promise<void> {
  const compress =
    format === 'csv.gz'
      ? zlib.createGzip({ level: zlib.constants.Z_BEST_SPEED, chunkSize: PIECE_BYTES })
      : createZstdCompress!({ params: { [constants.ZSTD_c_checksumFlag!]: 1 }, chunkSize: PIECE_BYTES });
  const write = async (pieces: AsyncIterable<Uint8Array>) => {
    for await (const piece of pieces) await writeAll(into, [piece]);
  };
  await pipeline(createReadStream(from, { highWaterMark: PIECE_BYTES }), compress, write, { signal });
}

/** What is known of the stored file of a publication. */
interface StoredOutput {
  readonly path: string;
  readonly format: OutputFormat;
  readonly bytes: number;
  readonly sha256: string;
  /** The CSV in it; undefined if that is the file itself. */
  readonly content?: { readonly bytes: number; readonly sha256: string } | undefined;
}

/** The length and the hash of the CSV of a publication, which are the same for each format. */
export function contentOf({ content, bytes, sha256 }: Omit<StoredOutput, 'path' | 'format'>) {
  return content ?? { bytes, sha256 };
}

/**
 * Reads the CSV of a publication from its file. A piece keeps its bytes after it is given.
 * @throws ConfigError `OUTPUT_CHANGED` while it is read, when the file cannot be decompressed; `ZSTD_MISSING`; the
 *   system's error. Whether the bytes are those that were published is for the caller to check.
 */
export async function* readContent(
  store: Pick<OutputStore, 'stream'>,
  { path, format, content }: Pick<StoredOutput, 'path' | 'format' | 'content'>,
): AsyncGenerator<Uint8Array> {
  const stored = store.stream(path);
  if (content === undefined) return yield* stored;
  checkCompression(format);
  const decompress =
    format === 'csv.gz' ? zlib.createGunzip({ chunkSize: PIECE_BYTES }) : createZstdDecompress!();
  const reading = pipeline(Readable.from(stored, { objectMode: false }), decompress);
  reading.catch(() => undefined);
  try {
    yield* decompress;
    await reading;
  } catch (cause) {
    throw /^(?:Z_|ZSTD_|ERR_ZSTD)/.test(codeOf(cause)) ? damaged(path, cause) : cause;
  } finally {
    decompress.destroy();
  }
}

function damaged(path: string, cause: unknown): ConfigError {
  return new ConfigError('OUTPUT_CHANGED', `${path} cannot be decompressed: it is not what was published`, {
    facts: { path },
    cause,
  });
}
