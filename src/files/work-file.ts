/**
 * The local files of a publication: the work file, in which the output grows (rule "A file appears whole",
 * docs/architecture.md#a-file-appears-whole), and small files that are written at once. In the end all are put in the
 * output store.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isFolder, isS3, RUN_ID, withoutPublication } from '../config/sections/output-names.js';
import { makeFolder } from '../make-folder.js';
import { syncFolder, writeFileAtomically } from '../streams/atomic-file.js';
import { createWrittenHash, hashFile, type WrittenHash } from '../streams/file-identity.js';
import type { Bytes } from '../types.js';
import { hasContent, type OutputStore } from './output-store.js';

export interface WorkFile {
  /** Length in bytes. */
  readonly length: number;
  /**
   * Appends pieces and syncs them to the disk.
   * @returns a SHA-256, hex: of the whole file, if this process has written all of it; else of the appended bytes. So
   *   no byte is hashed twice.
   */
  append(...pieces: Uint8Array[]): Promise<string>;
  /** Removes all bytes, so that the file is empty. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

/** The length and hash of the work file; `written` is undefined unless this process has written all of it. */
export interface KnownWork {
  written: WrittenHash | undefined;
}

/**
 * Opens the work file of a run, and cuts it off after its valid part.
 * @param lengthOf takes the size on disk and returns the number of valid bytes, which is not larger.
 */
export async function openWorkFile(
  path: string,
  known: KnownWork,
  lengthOf: (size: number) => Promise<number>,
): Promise<WorkFile> {
  makeFolder(dirname(path));
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    // A power failure could otherwise lose the name of a new file, and with it the synced content.
    if (size === 0) await syncFolder(dirname(path));
    const length = await lengthOf(size);
    if (size > length) {
      await file.truncate(length);
      // Its hash counts what was cut off, too.
      known.written = undefined;
    }
    if (length === 0) known.written = createWrittenHash(file);
    return createWorkFile(file, length, known);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Node accepts less than 2 GiB in one update of a hash. */
const MAX_HASH_BYTES = 1024 * 1024 * 1024;

function splitForHash(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / MAX_HASH_BYTES);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * MAX_HASH_BYTES, (index + 1) * MAX_HASH_BYTES),
  );
}

function createWorkFile(file: FileHandle, from: number, known: KnownWork): WorkFile {
  let length = from;
  return {
    get length() {
      return length;
    },
    append: async (...given) => {
      const pieces = given.flatMap(splitForHash);
      const write = () => writeAll(file, pieces);
      const sha256 = await (known.written?.append(file, pieces, write) ?? hashWhile(pieces, write));
      for (const piece of pieces) length += piece.length;
      await file.datasync();
      return sha256;
    },
    empty: async () => {
      await file.truncate(0);
      length = 0;
      known.written = createWrittenHash(file);
    },
    close: () => file.close(),
  };
}

/** Hashes the pieces while they are written. */
async function hashWhile(pieces: readonly Uint8Array[], write: () => Promise<void>): Promise<string> {
  const hash = createHash('sha256');
  const writing = write();
  for (const piece of pieces) hash.update(piece);
  await writing;
  return hash.digest('hex');
}

/** Node reports the bytes of one write as a 32-bit number. */
const MAX_WRITE_BYTES = 1024 * 1024 * 1024;

/**
 * Writes pieces in their order, in one system call if it takes all of them.
 * @param maxBytes the most bytes for one system call.
 */
export async function writeAll(
  file: FileHandle,
  pieces: readonly Uint8Array[],
  maxBytes = MAX_WRITE_BYTES,
): Promise<void> {
  let rest = pieces.filter(({ length }) => length > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(firstBytes(rest, maxBytes));
    rest = rest.flatMap((piece) => {
      const written = Math.min(bytesWritten, piece.length);
      bytesWritten -= written;
      return written === piece.length ? [] : [piece.subarray(written)];
    });
  }
}

/** The first bytes of the pieces, at most `size` together. */
function firstBytes(pieces: readonly Uint8Array[], size: number): Uint8Array[] {
  let room = size;
  return pieces.flatMap((piece) => {
    const taken = piece.subarray(0, room);
    room -= taken.length;
    return taken.length === 0 ? [] : [taken];
  });
}

/**
 * The local path at which a run writes a file before it is put in place under `name`. The one for the output is the
 * work file, in which the output grows until it is published. It is beside the output, so that it can be renamed; in the
 * folder, if the output is a folder (whatever the number of the publication); or in the state folder, if the output is no
 * local file.
 * @param partial for the partial publication at a deadline, which has its own work file.
 */
export function workPathOf(name: string, run: string, stateDir: string, partial = false): string {
  const ending = `${run}${partial ? '.deadline' : ''}.partial`;
  if (!isS3(name)) return `${withoutPublication(name)}.${ending}`;
  // The hash distinguishes names with equal ends.
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 16);
  const end = name.slice(-60).replaceAll(/[^A-Za-z0-9._-]/g, '_');
  return join(workFolderOf(name, stateDir), `${hash}-${end}.${ending}`);
}

/**
 * The run to which a file belongs by its name, if it is a work file of the output, including that of a deadline.
 * @param fileName of a file in `workFolderOf(output, stateDir)`.
 */
export function runOfWorkFile(fileName: string, output: string, stateDir: string): string | undefined {
  const start = basename(workPathOf(output, '', stateDir)).slice(0, -'.partial'.length);
  return fileName.startsWith(start) ? WORK_ENDING.exec(fileName.slice(start.length))?.[1] : undefined;
}

const WORK_ENDING = new RegExp(`^(${RUN_ID})(?:\\.deadline)?\\.partial$`);

/** The local folder of the work file for the output `name`. */
export function workFolderOf(name: string, stateDir: string): string {
  if (isS3(name)) return join(stateDir, 'outputs');
  return isFolder(name) ? name : dirname(name);
}

/**
 * Writes a file that appears whole or not at all, with mode 0600.
 * @param fill calls its parameter to append a piece; the piece may be overwritten after that call.
 * @returns what `fill` returns.
 */
export async function writeLocalFile<T>(
  path: string,
  fill: (append: (piece: string | Uint8Array) => void) => Promise<T>,
): Promise<T> {
  return writeFileAtomically(path, 0o600, (file) => fill((piece) => writeFileSync(file, piece)));
}

export async function isLocalFile(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Removes a file. A missing file is no error. */
export async function removeLocalFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

/**
 * Whether a file of a publication waits on the local disk, or is in place already: it may have waited on a machine that is
 * gone.
 * @param waiting where it would wait.
 * @param name under which it is put in place.
 */
export async function waitsOrIsInPlace(
  store: Pick<OutputStore, 'identity'>,
  waiting: string,
  name: string,
  content: { readonly bytes: Bytes; readonly sha256: string },
): Promise<boolean> {
  const found = await hashFile(waiting);
  if (found !== undefined) return found.sha256 === content.sha256;
  const there = await store.identity(name);
  return there !== undefined && hasContent(there, content);
}
