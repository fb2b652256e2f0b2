/**
 * The lock of a pipeline on the local disk (rule "One writer"): an open exclusive transaction on a small database file.
 * The operating system frees the lock when the process ends, even after kill -9. The lock file is never removed:
 * otherwise two processes could lock two different files of the same name.
 */
import { readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { makeFolder } from '../../make-folder.js';
import { isSqliteError } from '../../sqlite-driver.js';
import { type HeldLock, type LockHolder, lockedError, type PipelineLock } from '../pipeline-lock.js';
import { openPrivateDatabase } from './open-private-database.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { translateStateError } from './translate-state-error.js';

/**
 * The locks of a state folder, in `<stateDir>/locks`. The first `take` creates this folder.
 * @returns a lock whose `take` also throws ConfigError `STATE_DIR_UNWRITABLE`, `STATE_DIR_NETWORK` and TroubleError
 *   `DISK_FULL`.
 */
export function createFileLock(stateDir: string): PipelineLock {
  const folder = join(stateDir, 'locks');
  return {
    take: async (pipeline, holder) => {
      try {
        makeFolder(folder, 0o700);
        await refuseNetworkFolder(folder);
        return await takeIn(await realpath(folder), pipeline, holder).catch((error: unknown) => {
          throw translateStateError(error, join(folder, `${pipeline}.lock`));
        });
      } catch (error) {
        throw translateStateError(error, folder);
      }
    },
  };
}

/**
 * Does work on files that all pipelines share. First takes the locks of all pipelines that this process does not hold.
 * @throws LockedError `PIPELINE_LOCKED` when one of them is running.
 */
export async function withAllPipelinesStopped(stateDir: string, work: () => Promise<void>): Promise<void> {
  const folder = join(await realpath(stateDir), 'locks');
  const taken: string[] = [];
  try {
    for (const file of await readdir(folder).catch(() => [])) {
      const path = join(folder, file);
      if (!file.endsWith('.lock') || held.has(path)) continue;
      const pipeline = file.slice(0, -'.lock'.length);
      if (!takeLock(path)) throw lockedError(pipeline, await readHolder(holderPath(folder, pipeline)));
      taken.push(path);
    }
    await work();
  } finally {
    for (const path of taken) freeLock(path);
  }
}

/**
 * The locks that this process holds, by real path. The map protects their connections from the garbage collector, which
 * would free the locks. It also prevents a second opening of a file: closing one handle frees the POSIX locks of all.
 */
const held = new Map<string, Database>();

/** @param folder the real path of the folder with the locks. */
async function takeIn(folder: string, pipeline: string, holder: LockHolder): Promise<HeldLock> {
  const path = join(folder, `${pipeline}.lock`);
  const beside = holderPath(folder, pipeline);
  if (!takeLock(path)) throw lockedError(pipeline, await readHolder(beside));
  try {
    await writeHolder(beside, holder);
  } catch (error) {
    freeLock(path);
    throw error;
  }
  let closed = false;
  return {
    async close() {
      if (closed) return;
      closed = true;
      await rm(beside, { force: true }).finally(() => freeLock(path));
    },
  };
}

/**
 * Takes a lock. Synchronous, so that no other code of this process runs in between.
 * @returns whether this call has taken the lock.
 */
function takeLock(path: string): boolean {
  if (held.has(path)) return false;
  const connection = openPrivateDatabase(path, 0);
  try {
    connection.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    connection.close();
    if (isSqliteError(error) && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
  held.set(path, connection);
  return true;
}

function freeLock(path: string): void {
  held.get(path)?.close();
  held.delete(path);
}

function holderPath(folder: string, pipeline: string): string {
  return join(folder, `${pipeline}.holder.json`);
}

/** Writes the file whole or not at all, with mode 0600. */
async function writeHolder(path: string, holder: LockHolder): Promise<void> {
  const { pid, command, since } = holder;
  const partial = `${path}.partial`;
  await writeFile(partial, JSON.stringify({ pid, command, since }), { mode: 0o600 });
  await rename(partial, path);
}

/** @returns undefined if the file is missing or invalid. */
async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'number') return undefined;
    // A number that is not a valid date cannot be shown.
    if (Number.isNaN(new Date(since).getTime())) return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}
