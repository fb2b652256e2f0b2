/**
 * A journal that is open for writing. Invariant: the file has the lines in the order in which they were added. A line
 * that could not be written is written before any later line.
 */
import {
  closeSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder, syncNow } from '../../make-folder.js';
import { encodeLine, type JournalLine, type SearchJournalLine } from './journal-line.js';
import { wholeLength } from './read-journal.js';

const sync = promisify(fdatasync);

export interface JournalFile {
  /** Whether the path still leads to this file. Something may have removed it or put another one there. */
  isInPlace(): boolean;
  /** Writes a line. If that fails, the line is written together with the next one. Never throws. */
  add(line: JournalLine): void;
  /**
   * Resolves when all lines added so far are on the disk. Concurrent calls share one sync.
   * @throws the system's error; the next attempt writes the lines again.
   */
  sync(): Promise<void>;
  close(): void;
}

/** Opens an existing journal. Cuts off an incomplete last line. */
export function openJournalFile(path: string): JournalFile {
  const file = openSync(path, 'a+', 0o600);
  /** The length of the whole lines, and the length that is certainly on the disk. */
  let length = wholeLength(file);
  let syncedLength = length;
  let unsynced: string[] = [];
  let waiting: string[] = [];
  /** Whether the file may end with an incomplete line. */
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
  /** After a failed sync it is unknown which lines are on the disk, so all unsynced lines are written again. */
  const requeueUnsynced = () => {
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
      requeueUnsynced();
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

  const identity = fstatSync(file, { bigint: true });

  return {
    isInPlace: () => {
      const found = statSync(path, { bigint: true, throwIfNoEntry: false });
      return found?.ino === identity.ino && found.dev === identity.dev;
    },
    add: (line) => {
      waiting.push(encodeLine(line));
      try {
        write();
      } catch {
        // The next sync throws, before anything more is paid for.
      }
    },
    sync: () => {
      if (running === undefined) return begin();
      // The running sync may have begun before the latest line was written.
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

/** Writes a whole journal to the disk, or nothing. Creates its folder if needed. Returns when all is synced. */
export function writeJournalFile(path: string, lines: Iterable<JournalLine | SearchJournalLine>): void {
  const folder = dirname(path);
  makeFolder(folder, 0o700);
  const beside = `${path}.tmp`;
  rmSync(beside, { force: true });
  const file = openSync(beside, 'wx', 0o600);
  try {
    let text = '';
    for (const line of lines) {
      text += encodeLine(line);
      if (text.length < WRITE_SIZE) continue;
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
  syncNow(folder);
}

const WRITE_SIZE = 1024 * 1024;

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
