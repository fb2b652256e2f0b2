/**
 * The lock of a pipeline on the local disk (rule "One writer"). The lock file is never removed: otherwise two processes
 * could lock two different files of the same name. Others may remove it, such as a cleaner of old files, so a process
 * looks at it before it pays and before it publishes.
 */
import { realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../make-folder.js';
import { namesIn } from '../../streams/system-error.js';
import { type HeldLock, type LockHolder, lockedError, type PipelineLock } from '../pipeline-lock.js';
import {
  freeLock,
  isHeldHere,
  isLocked,
  isSame,
  lookAt,
  readHolder,
  takeLock,
  writeHolder,
} from './lock-file.js';
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
 * The process that works on a pipeline now; undefined if there is none. Looks at the lock only if a holder is named, so
 * that a run that begins at that moment finds it free.
 */
export async function findHolder(stateDir: string, pipeline: string): Promise<LockHolder | undefined> {
  const folder = await realpath(join(stateDir, 'locks')).catch(() => undefined);
  const holder = folder === undefined ? undefined : await readHolder(holderPath(folder, pipeline));
  return holder !== undefined && isLocked(join(folder!, `${pipeline}.lock`)) ? holder : undefined;
}

/**
 * Does work on files that all pipelines share. First takes the locks of all pipelines that this process does not hold.
 * @throws LockedError `PIPELINE_LOCKED` when one of them is running.
 */
export async function withAllPipelinesStopped<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  const folder = join(await realpath(stateDir), 'locks');
  const taken: string[] = [];
  try {
    for (const pipeline of lockedPipelines(stateDir)) {
      const path = join(folder, `${pipeline}.lock`);
      if (isHeldHere(path)) continue;
      if (!takeLock(path)) throw lockedError(pipeline, await readHolder(holderPath(folder, pipeline)));
      taken.push(path);
    }
    return await work();
  } finally {
    for (const path of taken) freeLock(path);
  }
}

/** The pipelines that have, or once had, a lock in the state folder. */
export function lockedPipelines(stateDir: string): readonly string[] {
  const files = namesIn(join(stateDir, 'locks'));
  return files.filter((file) => file.endsWith('.lock')).map((file) => file.slice(0, -'.lock'.length));
}

/** @param folder the real path of the folder with the locks. */
async function takeIn(folder: string, pipeline: string, holder: LockHolder): Promise<HeldLock> {
  const path = join(folder, `${pipeline}.lock`);
  const beside = holderPath(folder, pipeline);
  const isOurs = isHeldHere(path);
  if (!takeLock(path)) throw lockedError(pipeline, await readHolder(beside), isOurs);
  try {
    await writeHolder(beside, holder);
  } catch (error) {
    freeLock(path);
    throw error;
  }
  const locks = lookAt(folder);
  let file = lookAt(path);
  let isHeld = true;
  return {
    async expectHeld() {
      // If the state folder is gone or replaced, the checkpoint notices that, and saves what it knows.
      if ((isHeld && isSame(file, lookAt(path))) || !isSame(locks, lookAt(folder))) return;
      if (isHeld) freeLock(path);
      isHeld = takeLock(path);
      if (!isHeld) throw lockedError(pipeline, await readHolder(beside));
      file = lookAt(path);
      await writeHolder(beside, holder);
    },
    async close() {
      if (!isHeld) return;
      isHeld = false;
      try {
        // If the lock's file was removed, this may be the file of another process.
        if (isSame(file, lookAt(path))) await rm(beside, { force: true });
      } finally {
        freeLock(path);
      }
    },
  };
}

function holderPath(folder: string, pipeline: string): string {
  return join(folder, `${pipeline}.holder.json`);
}
