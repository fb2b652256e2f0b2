/**
 * Writes files that appear whole or not at all: to a temporary file, synced, renamed, and the folder synced. Rule
 * "A file appears whole" (docs/architecture.md#a-file-appears-whole).
 *
 * Calls that the system answers at once are synchronous: handing them to another thread takes twenty times as long.
 */
import { closeSync, fchmodSync, fsync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const sync = promisify(fsync);

/**
 * Writes a file through `write`. It gets its name only after all of it is on the disk.
 * @param mode permission bits of the file.
 * @param write is given the descriptor of the file, which is empty.
 * @param nameOf gives the path, if that depends on what was written; it must be in the same folder.
 */
export async function writeFileAtomically<T>(
  path: string,
  mode: number,
  write: (file: number) => T | Promise<T>,
  nameOf: (result: T) => string = () => path,
): Promise<T> {
  const temporary = `${path}.tmp`;
  const file = create(temporary, mode);
  let result: T;
  try {
    result = await write(file);
    // The umask may have removed rights of the group and of others.
    if ((mode & 0o077) !== 0) fchmodSync(file, mode);
    await sync(file);
  } catch (error) {
    closeSync(file);
    rmSync(temporary, { force: true });
    throw withPath(error, path);
  }
  closeSync(file);
  renameSync(temporary, nameOf(result));
  await syncFolder(dirname(path));
  return result;
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

/** Creates a file; removes one that a killed process has left. */
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

/** Adds the path to a system error about a descriptor, which does not name the file. */
function withPath(error: unknown, path: string): unknown {
  const isUnnamed = error instanceof Error && 'syscall' in error && !('path' in error);
  return isUnnamed ? Object.assign(error, { path }) : error;
}
