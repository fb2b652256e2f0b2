/**
 * Files that appear whole or not at all (law 7): written beside, synced, renamed, the folder synced. What the system
 * does at once is not given to another thread: handing it over takes twenty times as long.
 */
import { closeSync, fsync, openSync, renameSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const sync = promisify(fsync);

/**
 * Writes a file through `write`; it stands under its name only when all of it is on the disk.
 * @param mode permission bits of the file.
 */
export async function writeFileAtomically<T>(
  path: string,
  mode: number,
  write: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const beside = `${path}.tmp`;
  const file = await create(beside, mode);
  let result: T;
  try {
    result = await write(file);
    // The mask of the process may have taken rights from group and others.
    if ((mode & 0o077) !== 0) await file.chmod(mode);
    await file.sync();
  } catch (error) {
    await file.close();
    await rm(beside, { force: true });
    throw named(error, path);
  }
  await file.close();
  renameSync(beside, path);
  await syncFolder(dirname(path));
  return result;
}

/** Creates a file; what a killed process has left of it is removed. */
async function create(path: string, mode: number): Promise<FileHandle> {
  const openNew = () => open(path, 'wx', mode);
  return openNew().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    await rm(path, { force: true });
    return openNew();
  });
}

/** A system's error of an open file does not say which file that is. */
function named(error: unknown, path: string): unknown {
  const isUnnamed = error instanceof Error && 'syscall' in error && !('path' in error);
  return isUnnamed ? Object.assign(error, { path }) : error;
}

/** Makes renames and removals in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r');
  try {
    await sync(folder);
  } finally {
    closeSync(folder);
  }
}
