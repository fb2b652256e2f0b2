/**
 * Law 12: one writer a pipeline. The lock is an open exclusive transaction on a small database file of its
 * own, which the system ends with the process, even after kill -9. The lock file itself stays for ever:
 * removing it would let two processes lock two files of the same name.
 */
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { LockedError } from '../../errors.js';
import { isSqliteError } from '../../sqlite-driver.js';
import { openPrivateDatabase } from './open-private-database.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { translateStateError } from './translate-state-error.js';

/**
 * Locks held by this process, by real path. It keeps their connections from the garbage collector, which
 * would free the lock, and the file from being opened twice: closing one handle frees the POSIX locks of all.
 */
const held = new Map<string, Database>();

/**
 * Takes the lock of a pipeline, without waiting.
 * @param pipeline its name, `[A-Za-z0-9._-]{1,64}` (checked by the config): becomes a file name
 * @param holder this process, shown to those who come while the lock is held
 * @returns what gives the lock back
 * @throws LockedError `PIPELINE_LOCKED`, naming the holder
 * @throws ConfigError `STATE_DIR_UNWRITABLE`, `STATE_DIR_NETWORK`; TroubleError `DISK_FULL`
 */
export async function openPipelineLock(
  stateDir: string,
  pipeline: string,
  holder: LockHolder,
): Promise<{ close(): Promise<void> }> {
  const folder = join(stateDir, 'locks');
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await refuseNetworkFolder(folder);
    const real = await realpath(folder);
    const path = join(real, `${pipeline}.lock`);
    const holderPath = holderOf(real, pipeline);
    if (!takeLock(path)) throw lockedError(pipeline, await readLockHolder(holderPath));
    try {
      await writeLockHolder(holderPath, holder);
    } catch (error) {
      freeLock(path);
      throw error;
    }
    let closed = false;
    return {
      async close() {
        if (closed) return;
        closed = true;
        await removeLockHolder(holderPath).finally(() => freeLock(path));
      },
    };
  } catch (error) {
    throw translateStateError(error, folder);
  }
}

/**
 * Does work on what all pipelines share, holding the locks of those that are not this process's already.
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
      if (!takeLock(path)) throw lockedError(pipeline, await readLockHolder(holderOf(folder, pipeline)));
      taken.push(path);
    }
    await work();
  } finally {
    for (const path of taken) freeLock(path);
  }
}

function holderOf(folder: string, pipeline: string): string {
  return join(folder, `${pipeline}.holder.json`);
}

/** Whether the lock is now ours. Synchronous, so that nothing in this process comes between. */
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

function lockedError(pipeline: string, holder: LockHolder | undefined): LockedError {
  if (holder === undefined) {
    return new LockedError('PIPELINE_LOCKED', `another process runs the pipeline ${pipeline}`, {
      facts: { pipeline },
    });
  }
  const since = new Date(holder.since).toISOString();
  const who = `process ${holder.pid} (${holder.command})`;
  const message = `${who} has been running the pipeline ${pipeline} since ${since}`;
  return new LockedError('PIPELINE_LOCKED', message, {
    facts: { pipeline, pid: holder.pid, command: holder.command, since },
  });
}

/** Who holds a pipeline's lock, told to people beside it. The file proves nothing: only the lock does. */
interface LockHolder {
  readonly pid: number;
  /** The command as it may be shown. */
  readonly command: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** Writes the file whole, 0600. */
async function writeLockHolder(path: string, holder: LockHolder): Promise<void> {
  const { pid, command, since } = holder;
  const partial = `${path}.partial`;
  await writeFile(partial, JSON.stringify({ pid, command, since }), { mode: 0o600 });
  await rename(partial, path);
}

/** What the file says, or undefined where it is missing or makes no sense. */
async function readLockHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'number') return undefined;
    // Beyond this no time can be told.
    if (Number.isNaN(new Date(since).getTime())) return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}

/** Removes the file; a missing one is fine. */
async function removeLockHolder(path: string): Promise<void> {
  await rm(path, { force: true });
}
