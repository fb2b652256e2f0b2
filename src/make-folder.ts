/**
 * Makes folders one level after the other. Node's own recursive mkdir never returns where a file system takes no folders
 * and says ENOENT, as /proc does.
 */
import { closeSync, fsyncSync, mkdirSync, mkdtempSync, openSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Makes a folder and its missing parents, durably: each name survives a power failure. A folder that exists is left as
 * it is.
 * @param mode permission bits of the folders that are made.
 * @throws the system's error, with the path of the folder that cannot be made.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const made = tryMake(path, mode);
  if (made === 'there') return;
  if (made === 'no-parent') {
    makeFolder(dirname(path), mode);
    // Throws if the parent exists and is still reported as missing: its file system takes no folders.
    mkdirOnce(path, mode);
  }
  syncEntry(dirname(path));
}

/**
 * Makes a folder with a unique name in an existing one, and removes it at once: permission bits do not show reliably
 * whether folders can be made there.
 * @throws the system's error.
 */
export function tryToMakeFolder(parent: string): void {
  rmdirSync(mkdtempSync(join(parent, '.foliopipe-')));
}

function tryMake(path: string, mode: number): 'made' | 'there' | 'no-parent' {
  try {
    mkdirSync(path, mode);
    return 'made';
  } catch (error) {
    if (isFolder(path)) return 'there';
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path) return 'no-parent';
    throw error;
  }
}

/** Another process may make the folder at the same time. */
function mkdirOnce(path: string, mode: number): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Syncs the names in a folder, unless this user may not read it: that does not prevent making folders in it. */
function syncEntry(folder: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(folder, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return;
    throw error;
  }
  syncAndClose(descriptor);
}

/** Makes a file, or the names in a folder, durable before it returns. */
export function syncNow(path: string): void {
  syncAndClose(openSync(path, 'r'));
}

function syncAndClose(descriptor: number): void {
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
