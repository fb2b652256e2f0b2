/**
 * The lock of a pipeline on the local disk (rule "One writer"): an open exclusive transaction on a small database file
 * of its own. The system ends it with the process, even after kill -9. The lock file itself stays for ever: without
 * it, two processes could lock two files of the same name.
 */
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { isSqliteError } from '../../sqlite-driver.js';
import { type HeldLock, type LockHolder, lockedError, type PipelineLock } from '../pipeline-lock.js';
import { openPrivateDatabase } from './open-private-database.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { translateStateError } from './translate-state-error.js';

/**
 * The locks below a state folder, `<stateDir>/locks`, which the first `take` makes.
 * @returns a lock whose `take` also throws ConfigError `STATE_DIR_UNWRITABLE`, `STATE_DIR_NETWORK` and TroubleError
 *   `DISK_FULL`.
 */
export function createFileLock(stateDir: string): PipelineLock {
  const folder = join(stateDir, 'locks');
  return {
    take: async (pipeline, holder) => {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await refuseNetworkFolder(folder);
        return await takeIn(await realpath(folder), pipeline, holder);
      } catch (error) {
        throw translateStateError(error, folder);
      }
    },
  };
}

/**
 * Does work on what all pipelines share. Takes the locks of all pipelines that this process does not hold already.
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
 * Locks held by this process, by real path. The map keeps their connections from the garbage collector, which would
 * free the lock. It also keeps the file from being opened twice: closing one handle frees the POSIX locks of all.
 */
const held = new Map<string, Database>();

/** @param folder its real path. */
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
 * Synchronous, so that nothing else in this process runs in between.
 * @returns whether the lock is now held by this call.
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

/** Writes the file whole, 0600. */
async function writeHolder(path: string, holder: LockHolder): Promise<void> {
  const { pid, command, since } = holder;
  const partial = `${path}.partial`;
  await writeFile(partial, JSON.stringify({ pid, command, since }), { mode: 0o600 });
  await rename(partial, path);
}

/** @returns undefined if the file is missing or makes no sense. */
async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'number') return undefined;
    // A number that is no date cannot be shown.
    if (Number.isNaN(new Date(since).getTime())) return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}
