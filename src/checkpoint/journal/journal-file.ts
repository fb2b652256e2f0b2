/**
 * A journal that is written to. Invariant: its lines stand in the order in which they were given, and a line that
 * could not be written comes before whatever is written later.
 */
import {
  closeSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { encodeLine, type JournalLine } from './journal-line.js';
import { wholeLength } from './read-journal.js';

const sync = promisify(fdatasync);

export interface JournalFile {
  /** Writes a line; where that fails it waits for the next one. Never throws. */
  add(line: JournalLine): void;
  /**
   * Resolves when all lines given so far are on the disk. Several that wait share one sync.
   * @throws the system's error; the lines then wait for the next attempt.
   */
  sync(): Promise<void>;
  close(): void;
}

/** Opens a journal that is there; what was left of a torn last line is cut off. */
export function openJournalFile(path: string): JournalFile {
  const file = openSync(path, 'a+', 0o600);
  /** Length of what is whole; how much of it is surely on the disk. */
  let length = wholeLength(file);
  let syncedLength = length;
  let unsynced: string[] = [];
  let waiting: string[] = [];
  let isTorn = true;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const write = () => {
    if (waiting.length === 0) return;
    if (isTorn) ftruncateSync(file, length);
    const bytes = Buffer.from(waiting.join(''));
    isTorn = true;
    writeWhole(file, bytes);
    isTorn = false;
    length += bytes.length;
    unsynced.push(...waiting);
    waiting = [];
  };
  /** What a failed sync leaves of the lines nobody knows: they are written again. */
  const takeBack = () => {
    length = syncedLength;
    isTorn = true;
    waiting = [...unsynced, ...waiting];
    unsynced = [];
  };
  const syncNow = async () => {
    write();
    if (unsynced.length === 0) return;
    const count = unsynced.length;
    const upTo = length;
    try {
      await sync(file);
    } catch (error) {
      takeBack();
      throw error;
    }
    unsynced = unsynced.slice(count);
    syncedLength = upTo;
  };
  const begin = () => {
    running = syncNow().finally(() => {
      running = undefined;
    });
    return running;
  };

  return {
    add: (line) => {
      waiting.push(encodeLine(line));
      try {
        write();
      } catch {
        // Told by the next sync, before anything is paid for.
      }
    },
    sync: () => {
      if (running === undefined) return begin();
      // The one that is running may have begun before the line was written.
      next ??= running
        .catch(() => undefined)
        .then(() => {
          next = undefined;
          return begin();
        });
      return next;
    },
    close: () => closeSync(file),
  };
}

/** Writes a journal whole or not at all, on the disk when it returns; its folder is made where it is missing. */
export function writeJournalFile(path: string, lines: Iterable<JournalLine>): void {
  const folder = dirname(path);
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) syncFolderNow(dirname(folder));
  const beside = `${path}.tmp`;
  rmSync(beside, { force: true });
  const file = openSync(beside, 'wx', 0o600);
  try {
    let text = '';
    for (const line of lines) {
      text += encodeLine(line);
      if (text.length < MOST_AT_ONCE) continue;
      writeWhole(file, Buffer.from(text));
      text = '';
    }
    writeWhole(file, Buffer.from(text));
    fsyncSync(file);
  } catch (error) {
    closeSync(file);
    rmSync(beside, { force: true });
    throw error;
  }
  closeSync(file);
  renameSync(beside, path);
  syncFolderNow(folder);
}

const MOST_AT_ONCE = 1024 * 1024;

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

function syncFolderNow(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
