/**
 * A run's files on the local disk: `<stateDir>/runs/<run>/`, files 0600, folders 0700. One chunk's file is read and
 * written at once: that takes less than the work on its records, and much less than waiting for another thread.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { giveBack, takeBuffer } from '../streams/buffer-pool.js';
import { hashFile } from '../streams/hash-file.js';
import { stampAt } from '../streams/stamp.js';
import type { PartReference, StoredPart } from '../types.js';
import { contentOnDisk } from './content-on-disk.js';
import {
  type ByteStream,
  DamagedPartError,
  type FileStore,
  type RunFiles,
  type WrittenPart,
} from './run-files.js';
import { writeGzipped } from './write-gzipped.js';

const inflate = promisify(gunzip);
/** Of a part's hash in its name: enough that two contents of one part never meet. */
const HASH_DIGITS = 16;

/** What a part's file is named by. */
type NamedPart = PartReference & Pick<StoredPart, 'sha256'>;

/** Runs are folders below `<stateDir>/runs/`. A checkpoint may keep files of its own in them, which stay. */
export function createLocalFiles(stateDir: string): FileStore {
  const runsFolder = join(stateDir, 'runs');
  const folderOf = (run: string) => join(runsFolder, run);
  const names = async (run: string) => {
    const found = await readdir(folderOf(run)).catch(() => []);
    return found.filter((name) => OWN_NAME.test(name)).map((name) => join(folderOf(run), name));
  };
  return {
    ofRun: (run) => createLocalRunFiles(folderOf(run)),
    sizeOf: async (run) => {
      const paths = await names(run);
      return paths.length === 0 ? undefined : paths.reduce((sum, path) => sum + (sizeOf(path) ?? 0), 0);
    },
    remove: async (run) => {
      for (const path of await names(run)) await rm(path, { force: true });
    },
    runs: async () => {
      const found = await readdir(runsFolder).catch(() => []);
      return found.map((run) => ({ run, location: folderOf(run) }));
    },
  };
}

/** Chunk and part files, half-written ones too. */
const OWN_NAME = /^(?:chunk|part)-\d+/;

async function createLocalRunFiles(folder: string): Promise<RunFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const chunkPath = (number: number) => join(folder, `chunk-${digits(number)}.csv`);
  const partName = (chunk: number, { fileStatus, part }: PartReference) =>
    join(folder, `part-${digits(chunk)}-${fileStatus.toLowerCase()}-${part}`);
  /** Named by the content too: what is fetched again lies beside what was there, until the checkpoint knows it. */
  const partPath = (chunk: number, part: NamedPart) =>
    `${partName(chunk, part)}-${part.sha256.slice(0, HASH_DIGITS)}.csv.gz`;
  /** Where the part is, or should be: version 0.1 had one name for any content. */
  const storedPath = (chunk: number, part: NamedPart) => {
    const path = partPath(chunk, part);
    const older = `${partName(chunk, part)}.csv.gz`;
    return sizeOf(path) === undefined && sizeOf(older) !== undefined ? older : path;
  };
  const recent = createRecentParts();
  /** Chunk files that this process has written and not removed. */
  const written = new Map<number, { readonly sha256: string; readonly size: number }>();

  return {
    // Neither synced nor renamed: whatever a crash leaves of it is held to its hash before it is sent.
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
          // One that comes in several pieces is large.
          copy = bytes === 0 ? copyOf(piece) : undefined;
          bytes += piece.length;
        });
        return { bytes, sha256: hash.digest('hex') };
      };
      const pathOf = (written: WrittenPart) => partPath(chunk, { ...part, ...written });
      const written = await writeFileAtomically(`${partName(chunk, part)}.csv.gz`, 0o600, write, pathOf);
      if (copy !== undefined) recent.keep(pathOf(written), written.sha256, copy);
      return written;
    },

    readPart: async function* (chunk, part) {
      const known = recent.take(partPath(chunk, part), part.sha256);
      yield known ?? (await readStored(chunk, part));
    },
    removePart: async (chunk, part) => rmSync(storedPath(chunk, part), { force: true }),
  };

  async function readStored(chunk: number, part: StoredPart): Promise<Buffer> {
    try {
      const compressed = readFileSync(storedPath(chunk, part));
      // One byte more than is right: all of it in one piece, and a longer one is noticed.
      const size = part.bytes + 1;
      const bytes = await inflate(compressed, { maxOutputLength: size, chunkSize: Math.max(size, 64) });
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      if (sha256 !== part.sha256) throw new Error('its content is not what was written');
      return bytes;
    } catch (error) {
      // What the system refuses for another reason may be whole: it is not to be fetched again for that.
      if (isSystemTrouble(error)) throw error;
      throw new DamagedPartError(chunk, part, error);
    }
  }
}

/** Replaces the file; returns its size. */
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

function copyOf(piece: Uint8Array): Buffer {
  const copy = takeBuffer(piece.length);
  copy.set(piece);
  return copy;
}

/** Undefined where there is no such file. */
function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

function isSystemTrouble(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined && code !== 'ENOENT' && code !== 'EISDIR';
}

function digits(number: number): string {
  return String(number).padStart(6, '0');
}

// * The decoded content of the parts that were stored last. While a run goes on most parts are joined right after they
// were stored: they need not be read, decompressed and hashed for that. Invariant: what is given is what the file
// holds, as far as the system tells: one that was touched since is not known here.

/** Of all of them together: the parts of a few chunks of the usual size. */
const MOST_BYTES = 4 * 1024 * 1024;

export interface RecentParts {
  /**
   * Right after the file was written.
   * @param content whoever takes it may give it back to the buffer pool.
   */
  keep(path: string, sha256: string, content: Buffer): void;
  /** The content, which is no longer kept then. */
  take(path: string, sha256: string): Buffer | undefined;
}

/** Keeps the newest ones that fit. */
export function createRecentParts(mostBytes = MOST_BYTES): RecentParts {
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  const keyOf = (path: string, sha256: string) => `${sha256} ${stampAt(path)}`;
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
        if (bytes <= mostBytes) return;
        remove(oldest);
        giveBack(dropped);
      }
    },
    take: (path, sha256) => remove(keyOf(path, sha256)),
  };
}
