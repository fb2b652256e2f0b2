/**
 * The output while it grows: `<output>.<run>.partial` (law 7). Invariant: what the checkpoint calls merged is
 * on the disk; what is longer is cut off, and where the file is shorter the run goes back to its last whole chunk.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import { type HashedFile, hashFile } from '../../streams/hash-file.js';
import { createWrittenHash } from '../../streams/written-hash.js';

export type WorkFileNeeds = Pick<RunContext, 'id' | 'config' | 'at' | 'work'> & {
  readonly checkpoint: Pick<Checkpoint, 'lastMerged' | 'recordUnmerged'>;
};

export interface WorkFile {
  /** Length in bytes. */
  readonly length: number;
  /** Appends and makes durable; returns the hash of what was appended, hex. */
  append(...pieces: Uint8Array[]): Promise<string>;
  close(): Promise<void>;
}

export function workPath(run: Pick<RunContext, 'id' | 'config'>): string {
  return workPathOf(run.config.output.path, run.id);
}

/** Where the run of this id lets an output grow; one that a deadline cuts short has a file of its own. */
export function workPathOf(output: string, run: string, cutShort = false): string {
  return `${output}.${run}${cutShort ? '.deadline' : ''}.partial`;
}

/** Opens the work file at the end of its last whole chunk. */
export async function openWorkFile(run: WorkFileNeeds): Promise<WorkFile> {
  const path = workPath(run);
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const length = await restoreLength(run, size);
    if (size > length) await file.truncate(length);
    if (length === 0) run.work.written = createWrittenHash(file);
    return growingFile(file, length, run.work);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function restoreLength(run: WorkFileNeeds, size: number): Promise<number> {
  let last = await run.checkpoint.lastMerged(run.id);
  if (last === undefined) return 0;
  let lost: number | undefined;
  while (last !== undefined && last.mergedEnd! > size) {
    lost = last.firstRecord;
    last = await run.checkpoint.lastMerged(run.id, lost);
  }
  if (lost !== undefined) await run.checkpoint.recordUnmerged(run.id, lost);
  return last?.mergedEnd ?? 0;
}

/** A hash takes less than 2 GiB at once. */
const HASHED_AT_ONCE = 1024 * 1024 * 1024;

function hashable(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / HASHED_AT_ONCE);
  return Array.from({ length: count }, (_, at) =>
    bytes.subarray(at * HASHED_AT_ONCE, (at + 1) * HASHED_AT_ONCE),
  );
}

function growingFile(file: FileHandle, from: number, { written }: RunContext['work']): WorkFile {
  let length = from;
  return {
    get length() {
      return length;
    },
    append: async (...given) => {
      const pieces = given.flatMap(hashable);
      const hash = createHash('sha256');
      const write = async () => {
        const writing = writeAll(file, pieces);
        for (const piece of pieces) hash.update(piece);
        await writing;
      };
      await (written === undefined ? write() : written.append(file, pieces, write));
      for (const piece of pieces) length += piece.length;
      await file.datasync();
      return hash.digest('hex');
    },
    close: () => file.close(),
  };
}

// Hashes a work file before it is put in place, and holds it to what the merge has written chunk by chunk.

/**
 * The hash of the work file, or undefined where it is not what was merged: the chunks from the first wrong one on
 * are then no longer merged, and the next run writes them again.
 */
export async function hashWorkFile(
  run: Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'recordUnmerged'> },
  path: string,
): Promise<HashedFile | undefined> {
  let chunk = await run.checkpoint.nextChunk(run.id, 0, 0);
  let wrong: ChunkRow | undefined;
  let at = 0;
  let part = createHash('sha256');
  const look = async (piece: Buffer): Promise<void> => {
    for (let used = 0; used < piece.length && chunk !== undefined && wrong === undefined; ) {
      const taken = Math.min(piece.length - used, chunk.mergedEnd! - at);
      part.update(piece.subarray(used, used + taken));
      used += taken;
      at += taken;
      if (at < chunk.mergedEnd!) continue;
      if (chunk.mergedSha256 !== null && part.digest('hex') !== chunk.mergedSha256) wrong = chunk;
      part = createHash('sha256');
      chunk = await run.checkpoint.nextChunk(run.id, 0, chunk.lastRecord);
    }
  };
  const hashed = await hashFile(path, look);
  const lost = wrong ?? chunk;
  if (lost === undefined) return hashed;
  await run.checkpoint.recordUnmerged(run.id, lost.firstRecord);
  return undefined;
}

// Writes to open files.

/** Node tells what one call has written as a number of 32 bits. */
const MOST_AT_ONCE = 1024 * 1024 * 1024;

/**
 * Writes pieces one behind the other, in one call of the system where that takes all of it.
 * @param mostAtOnce bytes that one call is given.
 */
export async function writeAll(
  file: FileHandle,
  pieces: readonly Uint8Array[],
  mostAtOnce = MOST_AT_ONCE,
): Promise<void> {
  let rest = pieces.filter(({ length }) => length > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(begin(rest, mostAtOnce));
    rest = rest.flatMap((piece) => {
      const written = Math.min(bytesWritten, piece.length);
      bytesWritten -= written;
      return written === piece.length ? [] : [piece.subarray(written)];
    });
  }
}

/** The first bytes of the pieces together. */
function begin(pieces: readonly Uint8Array[], size: number): Uint8Array[] {
  let room = size;
  return pieces.flatMap((piece) => {
    const taken = piece.subarray(0, room);
    room -= taken.length;
    return taken.length === 0 ? [] : [taken];
  });
}
