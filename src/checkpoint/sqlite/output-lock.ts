/**
 * The lock of an output on a disk (rule "One writer"), for pipelines whose state is in different folders. Its file is
 * beside the output, so that it is found through every link and mount by which the output is reached. Unlike the file
 * of a pipeline's lock it is removed when the lock is freed.
 */
import { closeSync, openSync, type Stats } from 'node:fs';
import { realpath, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isSqliteError } from '../../sqlite-driver.js';
import { codeOf } from '../../streams/system-error.js';
import type { HeldLock, LockHolder } from '../pipeline-lock.js';
import {
  freeLock,
  isHeldHere,
  isSame,
  lookAt,
  partialPath,
  readHolder,
  takeLock,
  writeHolder,
} from './lock-file.js';
import { networkFileSystem } from './refuse-network-folder.js';

/** The path of the lock's file. @param output the path of the output. */
export function outputLockPath(output: string): string {
  return join(dirname(output), `.${basename(output)}.foliopipe-lock`);
}

/** All names that the lock uses, including those that SQLite looks for. @param output the path of the output. */
export function outputLockNames(output: string): readonly string[] {
  const path = outputLockPath(output);
  const ofSqlite = ['-journal', '-wal', '-shm'].map((end) => `${path}${end}`);
  return [path, holderPath(path), partialPath(holderPath(path)), ...ofSqlite];
}

function holderPath(path: string): string {
  return `${path}.json`;
}

/** The lock is held, by `holder` if that is known. */
export interface Taken {
  readonly kind: 'taken';
  /** This process holds it, for example for a run that it has not closed. */
  readonly here?: boolean;
  readonly holder: LockHolder | undefined;
}

interface OutputLock extends HeldLock {
  /**
   * Makes sure that the lock is still held: takes it again where its file was removed or replaced.
   * @returns the process that has taken it meanwhile; undefined if it is held.
   * @throws as `lockOutput`.
   */
  renew(): Promise<Taken | undefined>;
}

/** `held`: by this call. `none`: this disk has no locks. */
type OutputLocking = { readonly kind: 'held'; readonly lock: OutputLock } | Taken | { readonly kind: 'none' };

/**
 * Takes the lock of an output without waiting. Its folder must exist.
 * @param holder this process, shown to others while the lock is held.
 * @throws the system's or SQLite's error when the file cannot be opened, such as that of another user; `EEXIST` when
 *   something other than a file has its name.
 */
export async function lockOutput(output: string, holder: LockHolder): Promise<OutputLocking> {
  const folder = await realpath(dirname(output));
  if (networkFileSystem((await statfs(folder)).type) !== undefined) return { kind: 'none' };
  const path = outputLockPath(join(folder, basename(output)));
  try {
    const isOurs = isHeldHere(path);
    const file = takeFile(path);
    if (file === undefined) return await takenBy(path, isOurs);
    await tryToWriteHolder(path, holder);
    return { kind: 'held', lock: createLock(path, file, holder) };
  } catch (error) {
    if (isSqliteError(error) && /^SQLITE_(IOERR|PROTOCOL|NOLFS)/.test(error.code)) return { kind: 'none' };
    throw error;
  }
}

/** @param taken the locked file. */
function createLock(path: string, taken: Stats, holder: LockHolder): OutputLock {
  let own: Stats | undefined = taken;
  return {
    async renew() {
      if (own !== undefined && isSame(own, lookAt(path))) return undefined;
      if (own !== undefined) freeLock(path);
      own = undefined;
      const isOurs = isHeldHere(path);
      own = takeFile(path);
      if (own === undefined) return takenBy(path, isOurs);
      await tryToWriteHolder(path, holder);
      return undefined;
    },
    async close() {
      if (own === undefined) return;
      const file = own;
      own = undefined;
      try {
        // If its own files were removed, these may be those of another process.
        if (!isSame(file, lookAt(path))) return;
        await removeAll([holderPath(path), path]);
      } finally {
        // Freed last, so that no other process can lock the file before it is removed.
        freeLock(path);
      }
    },
  };
}

async function takenBy(path: string, isOurs: boolean): Promise<Taken> {
  return { kind: 'taken', ...(isOurs && { here: true }), holder: await readHolder(holderPath(path)) };
}

/** Ignores a failure: on a full disk the run may still have parts to collect. Only the lock proves that it is held. */
async function tryToWriteHolder(path: string, holder: LockHolder): Promise<void> {
  const beside = holderPath(path);
  await writeHolder(beside, holder).catch(() =>
    rm(partialPath(beside), { force: true }).catch(() => undefined),
  );
}

/** Removes each file, also after the failure of another; then throws the first failure. */
async function removeAll(paths: readonly string[]): Promise<void> {
  const failures: unknown[] = [];
  for (const path of paths) await rm(path, { force: true }).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/**
 * Locks the file that has the name. If another process removes it in between, it is created again.
 * @returns the locked file; undefined if others hold it.
 */
function takeFile(path: string): Stats | undefined {
  // While this process removes the file, a new one would be left over.
  if (isHeldHere(path)) return undefined;
  for (;;) {
    const before = lookAt(path) ?? create(path);
    if (before?.isFile() === false) throw notAFile(path);
    if (!takeIfThere(path)) return undefined;
    if (isSame(before, lookAt(path))) return before;
    freeLock(path);
  }
}

/** @returns false if others hold the lock; true also if the file was removed while it was opened. */
function takeIfThere(path: string): boolean {
  try {
    return takeLock(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true;
    throw error;
  }
}

/** Creates the file; no lock of this process can be on it yet. @returns undefined if it was removed meanwhile. */
function create(path: string): Stats | undefined {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return lookAt(path);
}

/** SQLite would follow a link, and take a FIFO for a disk without locks. */
function notAFile(path: string): Error {
  return Object.assign(new Error(`${path} is not a file`), { code: 'EEXIST', syscall: 'open', path });
}
