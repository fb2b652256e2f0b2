/**
 * The lock of an output on a disk (rule "One writer"), for pipelines whose state is in different folders. Its file stands
 * beside the output, so that it is found through every link and mount by which the output is reached. Unlike the file
 * of a pipeline's lock it is removed when the lock is freed.
 */
import { closeSync, openSync, type Stats, statSync } from 'node:fs';
import { realpath, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isSqliteError } from '../../sqlite-driver.js';
import { codeOf } from '../../streams/system-error.js';
import type { HeldLock, LockHolder } from '../pipeline-lock.js';
import { freeLock, isHeldHere, readHolder, takeLock, writeHolder } from './lock-file.js';
import { networkFileSystem } from './refuse-network-folder.js';

/** The path of the lock's file. @param output the path of the output. */
export function outputLockPath(output: string): string {
  return join(dirname(output), `.${basename(output)}.foliopipe-lock`);
}

/** `held`: by this call. `taken`: by another process, which is told if it is known. `none`: this disk has no locks. */
export type OutputLocking =
  | { readonly kind: 'held'; readonly lock: HeldLock }
  | { readonly kind: 'taken'; readonly holder: LockHolder | undefined }
  | { readonly kind: 'none' };

/**
 * Takes the lock of an output without waiting. Its folder must exist.
 * @param holder this process, shown to others while the lock is held.
 * @throws the system's or SQLite's error when the file cannot be opened, such as that of another user.
 */
export async function lockOutput(output: string, holder: LockHolder): Promise<OutputLocking> {
  const folder = await realpath(dirname(output));
  if (networkFileSystem((await statfs(folder)).type) !== undefined) return { kind: 'none' };
  const path = outputLockPath(join(folder, basename(output)));
  const beside = `${path}.json`;
  try {
    if (!takeFile(path)) return { kind: 'taken', holder: await readHolder(beside) };
  } catch (error) {
    if (isSqliteError(error) && /^SQLITE_(IOERR|PROTOCOL|NOLFS)/.test(error.code)) return { kind: 'none' };
    throw error;
  }
  const close = async () => {
    await rm(beside, { force: true });
    // Removed while it is still locked: nobody else can have locked this file then.
    await rm(path, { force: true }).finally(() => freeLock(path));
  };
  // On a full disk the run may still have something to collect. Only the lock itself proves that it is held.
  await writeHolder(beside, holder).catch(() => rm(`${beside}.partial`, { force: true }));
  let closed = false;
  return {
    kind: 'held',
    lock: {
      async close() {
        if (closed) return;
        closed = true;
        await close();
      },
    },
  };
}

/** Locks the file that has the name. Another process may remove it in between, and then it is made anew. */
function takeFile(path: string): boolean {
  // While this process removes the file, a file made anew would be left over.
  if (isHeldHere(path)) return false;
  for (;;) {
    const before = statSync(path, { throwIfNoEntry: false }) ?? create(path);
    if (!takeIfThere(path)) return false;
    if (isSame(before, statSync(path, { throwIfNoEntry: false }))) return true;
    freeLock(path);
  }
}

/** @returns whether the lock is not held by others: the file may have been removed while it was opened. */
function takeIfThere(path: string): boolean {
  try {
    return takeLock(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true;
    throw error;
  }
}

/** Creates the file, which no lock of this process can be on yet. @returns undefined if it is there meanwhile. */
function create(path: string): Stats | undefined {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return statSync(path, { throwIfNoEntry: false });
}

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}
