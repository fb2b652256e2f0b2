/**
 * A lock on the local disk: an open exclusive transaction on a small database file. The operating system frees it when
 * the process ends, even after kill -9.
 */
import { constants, lstatSync, type Stats } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { pid as ownPid } from 'node:process';
import type { Database } from 'better-sqlite3';
import { isSqliteError, openSqlite } from '../../sqlite-driver.js';
import { readBeginning } from '../../streams/read-pieces.js';
import type { LockHolder } from '../pipeline-lock.js';
import { openPrivateDatabase } from './open-private-database.js';

/**
 * The locks that this process holds, by real path. The map protects their connections from the garbage collector, which
 * would free the locks. It also prevents a second opening of a file: closing one handle frees the POSIX locks of all.
 */
const held = new Map<string, Database>();

/** Whether this process holds the lock. @param path a real path. */
export function isHeldHere(path: string): boolean {
  return held.has(path);
}

/** How long to wait for a command that only looks whether the lock is held (`isLocked`): that takes a millisecond. */
const LOOKING_MS = 100;

/**
 * Takes a lock. Synchronous, so that no other code of this process runs in between.
 * @returns whether this call has taken the lock.
 */
export function takeLock(path: string): boolean {
  if (held.has(path)) return false;
  const connection = openPrivateDatabase(path, LOOKING_MS);
  try {
    // Nothing is ever written, so there is no journal to keep in a file.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    connection.close();
    if (isSqliteError(error) && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
  held.set(path, connection);
  return true;
}

/** Whether a process holds the lock now; it is not taken, and a missing file is not made. @param path a real path. */
export function isLocked(path: string): boolean {
  if (held.has(path)) return true;
  try {
    const connection = openSqlite(path, { readonly: true, fileMustExist: true, timeout: 0 });
    try {
      connection.prepare('SELECT 1 FROM sqlite_schema').get();
    } finally {
      connection.close();
    }
    return false;
  } catch (error) {
    return isSqliteError(error) && error.code.startsWith('SQLITE_BUSY');
  }
}

/** The file, folder or link at the path of a lock; a link is not followed. */
export function lookAt(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Whether both are the same file or folder, and there is one. */
export function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

/** Frees a lock that this process holds. */
export function freeLock(path: string): void {
  held.get(path)?.close();
  held.delete(path);
}

/**
 * This process, as it is shown to others while it holds a lock.
 * @param given what its program says about it.
 */
export function holderHere(given: Partial<LockHolder> | undefined, since: number): LockHolder {
  return { pid: ownPid, command: 'foliopipe', ...given, since };
}

/** Writes the file atomically, with mode 0600. */
export async function writeHolder(path: string, holder: LockHolder): Promise<void> {
  const { pid, command, since } = holder;
  const partial = partialPath(path);
  // Other users may write into the folder: a file that they put there is removed, not written into.
  await rm(partial, { force: true });
  await writeFile(partial, JSON.stringify({ pid, command, since }), { mode: 0o600, flag: 'wx' });
  await rename(partial, path);
}

/** The temporary file that is renamed to the holder's file. @param path of the holder's file. */
export function partialPath(path: string): string {
  return `${path}.partial`;
}

/** @returns undefined if the file is missing or invalid. */
export async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readSmall(path)) as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'number') return undefined;
    // A number that is not a valid date cannot be shown.
    if (Number.isNaN(new Date(since).getTime())) return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}

/** No holder's file is larger. */
const HOLDER_BYTES = 64 * 1024;

/** Follows no link, and does not wait for the writer of a FIFO. */
async function readSmall(path: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return (await readBeginning(path, HOLDER_BYTES, flags)).toString();
}
