/**
 * Files that appear whole or not at all (law 7): written beside, synced, renamed, the folder synced. What the system
 * does at once is not given to another thread: handing it over takes twenty times as long.
 */
import { closeSync, fchmodSync, fsync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const sync = promisify(fsync);

/**
 * Writes a file through `write`; it stands under its name only when all of it is on the disk.
 * @param mode permission bits of the file.
 * @param write is given the descriptor of the file, which is empty.
 * @param nameOf gives the path where that depends on what was written; it must lie in the same folder.
 */
export async function writeFileAtomically<T>(
  path: string,
  mode: number,
  write: (file: number) => T | Promise<T>,
  nameOf: (result: T) => string = () => path,
): Promise<T> {
  const beside = `${path}.tmp`;
  const file = create(beside, mode);
  let result: T;
  try {
    result = await write(file);
    // The mask of the process may have taken rights from group and others.
    if ((mode & 0o077) !== 0) fchmodSync(file, mode);
    await sync(file);
  } catch (error) {
    closeSync(file);
    rmSync(beside, { force: true });
    throw named(error, path);
  }
  closeSync(file);
  renameSync(beside, nameOf(result));
  await syncFolder(dirname(path));
  return result;
}

/** Creates a file; what a killed process has left of it is removed. */
function create(path: string, mode: number): number {
  const openNew = () => openSync(path, 'wx', mode);
  try {
    return openNew();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    rmSync(path, { force: true });
    return openNew();
  }
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
