/**
 * A run's files on the local disk: `<stateDir>/runs/<run>/`, files 0600, folders 0700. Chunk and part files are read
 * and written synchronously when that is faster than waiting for another thread.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { TroubleError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { syncFolder, writeFileWhole } from '../streams/atomic-file.js';
import { hashFile, stampAt } from '../streams/file-identity.js';
import { freeMemory, giveBack, takeBuffer } from '../streams/large-buffers.js';
import { namesIn } from '../streams/system-error.js';
import type { PartReference, StoredPart, UploadContent } from '../types.js';
import {
  type ByteStream,
  DamagedPartError,
  type FileStore,
  type RunFiles,
  type WrittenPart,
} from './run-files.js';
import { unzippedSame, writeGzipped } from './write-gzipped.js';

/** Digits of the hash in a part's file name: enough that two contents of one part never have the same name. */
const HASH_DIGITS = 16;

/** The values that make up the file name of a part. */
type NamedPart = PartReference & Pick<StoredPart, 'sha256'>;

/** Each run has a folder in `<stateDir>/runs/`. Does not touch files of the checkpoint in these folders. */
export function createLocalFiles(stateDir: string): FileStore {
  const runsFolder = join(stateDir, 'runs');
  const folderOf = (run: string) => join(runsFolder, run);
  const pathsOf = (run: string) =>
    namesIn(folderOf(run))
      .filter((name) => OWN_NAME.test(name))
      .map((name) => join(folderOf(run), name));
  return {
    ofRun: (run) => createLocalRunFiles(folderOf(run)),
    sizeOf: async (run) => {
      const paths = pathsOf(run);
      return paths.length === 0 ? undefined : paths.reduce((sum, path) => sum + (sizeOf(path) ?? 0), 0);
    },
    remove: async (run) => {
      for (const path of pathsOf(run)) await rm(path, { force: true });
    },
    runs: async () => namesIn(runsFolder).map((run) => ({ run, location: folderOf(run) })),
  };
}

/** The names of chunk and part files, including unfinished ones. */
const OWN_NAME = /^(?:chunk|part)-\d+/;

async function createLocalRunFiles(folder: string): Promise<RunFiles> {
  makeFolder(folder, 0o700);
  // `join` would parse the same folder for each of many small files.
  const within = join(folder, sep);
  const chunkPath = (number: number) => `${within}chunk-${digits(number)}.csv`;
  const partName = (chunk: number, { fileStatus, part }: PartReference) =>
    `${within}part-${digits(chunk)}-${fileStatus.toLowerCase()}-${part}`;
  /**
   * Contains the hash, so that a part that is fetched again does not replace the old file before the checkpoint does.
   */
  const partPath = (chunk: number, part: NamedPart) =>
    `${partName(chunk, part)}-${part.sha256.slice(0, HASH_DIGITS)}.csv.gz`;
  /** The path at which the part is, or should be. Versions before 0.1.0 named parts without their hash. */
  const storedPath = (chunk: number, part: NamedPart) => {
    const path = partPath(chunk, part);
    const older = `${partName(chunk, part)}.csv.gz`;
    return sizeOf(path) === undefined && sizeOf(older) !== undefined ? older : path;
  };
  const recent = createRecentParts();
  /** Chunk files that this process has written and not removed. */
  const written = new Map<number, { readonly sha256: string; readonly size: number }>();

  return {
    // Neither synced nor renamed: after a crash its hash is checked before it is sent.
    writeChunk: async (number, content, sha256) => {
      written.delete(number);
      const size = await writePieces(chunkPath(number), content);
      written.set(number, { sha256, size });
    },
    chunkContent: async (number) => contentOnDisk(chunkPath(number)),
    hasChunk: async (number, sha256) => {
      const known = written.get(number);
      if (known?.sha256 === sha256) return sizeOf(chunkPath(number)) === known.size;
      return (await hashFile(chunkPath(number)))?.sha256 === sha256;
    },
    removeChunk: async (number) => {
      written.delete(number);
      rmSync(chunkPath(number), { force: true });
    },

    writePart: async (chunk, part, content) => {
      const hash = createHash('sha256');
      let bytes = 0;
      let copy: Buffer | undefined;
      const write = async (file: number) => {
        await writeGzipped(file, content, (piece) => {
          hash.update(piece);
          // Only a part of a single piece is kept, because a part of several pieces is large.
          if (copy !== undefined) giveBack(copy);
          copy = bytes === 0 ? copyOf(piece) : undefined;
          bytes += piece.length;
        });
        return { bytes, sha256: hash.digest('hex') };
      };
      const pathOf = (written: WrittenPart) => partPath(chunk, { ...part, ...written });
      const written = await writeFileWhole(`${partName(chunk, part)}.csv.gz`, 0o600, write, pathOf);
      if (copy !== undefined) recent.keep(pathOf(written), written.sha256, copy);
      return written;
    },
    syncParts: () => syncFolder(folder),

    readPart: async function* (chunk, part) {
      const kept = recent.take(partPath(chunk, part), part.sha256);
      yield kept ?? (await readStored(chunk, part));
    },
    removePart: async (chunk, part) => rmSync(storedPath(chunk, part), { force: true }),
  };

  async function readStored(chunk: number, part: StoredPart): Promise<Buffer> {
    try {
      const compressed = readFileSync(storedPath(chunk, part));
      const bytes = await unzippedSame(compressed, part);
      if (bytes.buffer !== compressed.buffer) freeMemory(compressed);
      return bytes;
    } catch (error) {
      // After any other system error the file may be undamaged, so it is not fetched again.
      if (isSystemError(error)) throw error;
      throw new DamagedPartError(chunk, part, error);
    }
  }
}

/**
 * Writes the file, replacing an old one.
 * @returns its size.
 */
async function writePieces(path: string, content: ByteStream): Promise<number> {
  const file = openSync(path, 'w', 0o600);
  let size = 0;
  try {
    for await (const piece of content) {
      writeFileSync(file, piece);
      size += piece.length;
    }
  } finally {
    closeSync(file);
  }
  return size;
}

/** A copy in a buffer of `takeBuffer`. */
export function copyOf(piece: Uint8Array): Buffer {
  const copy = takeBuffer(piece.length);
  copy.set(piece);
  return copy;
}

/** The size of a file; undefined if it does not exist. */
function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

function isSystemError(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined && code !== 'ENOENT' && code !== 'EISDIR';
}

function digits(number: number): string {
  return String(number).padStart(6, '0');
}

/** The most bytes of all kept parts together, enough for a few chunks of the usual size. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * The decoded content of the parts that were stored last. Most parts are joined right after they are stored; their
 * files need not be read, decompressed and hashed for that. Invariant: the content equals the file. After a change of
 * the file's stamp the content is not used.
 */
interface RecentParts {
  /**
   * Keeps the content of a file; must be called right after the file was written.
   * @param content the caller of `take` may give it back.
   */
  keep(path: string, sha256: string, content: Buffer): void;
  /** Returns the content and no longer keeps it. */
  take(path: string, sha256: string): Buffer | undefined;
}

/**
 * Keeps the newest parts that fit.
 * @param stampOf changes when the stored content does.
 */
export function createRecentParts(
  maxBytes = MAX_KEPT_BYTES,
  stampOf: (path: string) => unknown = stampAt,
): RecentParts {
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  const keyOf = (path: string, sha256: string) => `${sha256} ${stampOf(path)}`;
  const remove = (key: string): Buffer | undefined => {
    const content = contents.get(key);
    contents.delete(key);
    bytes -= content?.length ?? 0;
    return content;
  };
  return {
    keep: (path, sha256, content) => {
      const key = keyOf(path, sha256);
      remove(key);
      contents.set(key, content);
      bytes += content.length;
      for (const [oldest, dropped] of contents) {
        if (bytes <= maxBytes) return;
        remove(oldest);
        giveBack(dropped);
      }
    },
    take: (path, sha256) => remove(keyOf(path, sha256)),
  };
}

/** A good size for one write to a socket; larger pieces would only take more memory. */
const PIECE_BYTES = 64 * 1024;

/**
 * A file as content to upload: its length, and its bytes each time they are asked for. The length is fixed now, because
 * the upload form names it: bytes that are appended later are not read. The file is read synchronously, in small pieces.
 * This is faster than waiting for a thread of the pool, and memory holds one piece.
 * @throws the system's error when the file does not exist.
 */
export function contentOnDisk(path: string): UploadContent {
  const { size } = statSync(path);
  return { bytes: size, open: () => contentPieces(path, size) };
}

/**
 * All pieces share the same memory.
 * @throws TroubleError `CHUNK_FILE_SHORT` when the file has become shorter.
 */
async function* contentPieces(path: string, size: number): AsyncGenerator<Uint8Array> {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size));
  const file = openSync(path, 'r');
  try {
    for (let at = 0; at < size; ) {
      const length = readSync(file, piece, 0, Math.min(piece.length, size - at), at);
      if (length === 0) throw cutShort(path, size, at);
      yield piece.subarray(0, length);
      at += length;
    }
  } finally {
    closeSync(file);
  }
}

/** The next start finds that the file is not what was cut, and cuts it again from the source. */
function cutShort(path: string, size: number, found: number): TroubleError {
  return new TroubleError(
    'CHUNK_FILE_SHORT',
    `${path} became shorter while it was sent: ${found} of ${size} bytes`,
    {
      hint: 'find what changes files in the state folder, then run the same command again: it writes the file anew from the source',
      facts: { path, bytes: size, found },
    },
  );
}
