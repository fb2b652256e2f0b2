/**
 * Writes files that appear whole or not at all: writes a temporary file, syncs it, renames it and syncs the folder.
 * Rule "A file appears whole" (docs/architecture.md#a-file-appears-whole).
 *
 * Fast system calls are synchronous, because another thread would take twenty times as long.
 */

import { closeSync, fchmodSync, fsync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { shareRuns } from './share-runs.js';
import { codeOf, withPath } from './system-error.js';

const sync = promisify(fsync);

/**
 * Writes a file with `write`. The file gets its name only after all of it is on the disk.
 * @param mode permission bits of the file.
 * @param write gets the descriptor of the empty file.
 * @param nameOf gives the path if it depends on the result of `write`. The path must be in the same folder.
 */
export async function writeFileAtomically<T>(
  path: string,
  mode: number,
  write: (file: number) => T | Promise<T>,
  nameOf?: (result: T) => string,
): Promise<T> {
  const result = await writeFileWhole(path, mode, write, nameOf);
  await syncFolder(dirname(path));
  return result;
}

/**
 * The same without the sync of the folder, which is left to the caller: until then a power failure may undo the rename.
 * Files that are written one after the other need one such sync.
 */
export async function writeFileWhole<T>(
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
  try {
    renameSync(temporary, nameOf(result));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return result;
}

/** Makes renames and removals in a folder durable. Calls share syncs, and their failures (`shareRuns`). */
export const syncFolder: (path: string) => Promise<void> = shareRuns(async (path) => {
  const folder = openSync(path, 'r');
  try {
    await sync(folder);
  } finally {
    closeSync(folder);
  }
});

/** Creates a file. Removes an old one, which a killed process has left. */
function create(path: string, mode: number): number {
  const openNew = () => openSync(path, 'wx', mode);
  try {
    return openNew();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    rmSync(path, { force: true });
    return openNew();
  }
}
