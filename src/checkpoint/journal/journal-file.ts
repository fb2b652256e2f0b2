/**
 * The file of a journal: opened for writing, written as a whole, or read. Invariant of an open one: the file has the
 * lines in the order in which they were added. A line that could not be written is written before any later line.
 */
import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigError } from '../../errors.js';
import { makeFolder, syncNow } from '../../make-folder.js';
import { readAll } from '../../streams/read-at.js';
import { shareRuns } from '../../streams/share-runs.js';
import {
  decodeLine,
  encodeLine,
  type JournalLine,
  journalVersion,
  type SearchJournalLine,
} from './journal-line.js';

const syncData = promisify(fdatasync);

/** A journal that is open for writing. */
export interface JournalFile {
  /** Whether the path still leads to this file. Something may have removed it or put another one there. */
  isInPlace(): boolean;
  /** Writes a line. If that fails, the line is written together with the next one. Never throws. */
  add(line: JournalLine): void;
  /**
   * Resolves when all lines added so far are on the disk. Concurrent calls share one sync. If it fails, the lines are
   * written and synced once more.
   * @throws the system's error; the next call tries again.
   */
  sync(): Promise<void>;
  close(): void;
}

/** The path of a run's journal. */
export function journalPath(stateDir: string, run: string): string {
  return join(stateDir, 'runs', run, 'paid.log');
}

/**
 * Opens an existing journal. Cuts off an incomplete last line.
 * @param syncFile syncs a file descriptor.
 */
export function openJournalFile(path: string, syncFile = syncData): JournalFile {
  const file = openSync(path, 'a+', 0o600);
  /** The length of the whole lines, and the length that is certainly on the disk. */
  let length = wholeLength(file);
  let syncedLength = length;
  let unsynced: string[] = [];
  let waiting: string[] = [];
  /** Whether the file may end with an incomplete line. */
  let isTorn = true;

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
  const syncLines = shareRuns(async () => {
    write();
    if (unsynced.length === 0) return;
    const count = unsynced.length;
    const upTo = length;
    try {
      await syncFile(file);
    } catch (error) {
      requeueUnsynced();
      throw error;
    }
    unsynced = unsynced.slice(count);
    syncedLength = upTo;
  });

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
    // The first failure may be that of a sync that an earlier call began.
    sync: () => syncLines(path).catch(() => syncLines(path)),
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

const LF = 0x0a;
const PIECE = 256 * 1024;

/**
 * The lines of a journal; the first line is the run's. Skips an incomplete last line, left by a kill or a power
 * failure.
 * @param onDamaged called with each damaged line, which is then skipped. Without it, a damaged line is an error.
 * @throws ConfigError `JOURNAL_DAMAGED`, naming file and line; `JOURNAL_NEWER`. The system's own error if there is no
 *   such file.
 */
export function* readJournal(
  path: string,
  onDamaged?: (line: number, text: string) => void,
): Generator<JournalLine> {
  const file = openSync(path, 'r');
  try {
    const end = wholeLength(file);
    let number = 0;
    for (const text of linesUpTo(file, end)) {
      number += 1;
      const line = decodeLine(text);
      if (line === undefined || isOfSearches(line) || (line.type === 'run') !== (number === 1)) {
        if (onDamaged === undefined) throw damagedError(path, number);
        onDamaged(number, text);
        continue;
      }
      if (line.type === 'run' && line.version > journalVersion) throw newerError(path, line.version);
      yield line;
    }
    if (number === 0 && onDamaged === undefined) throw damagedError(path, 1);
  } finally {
    closeSync(file);
  }
}

/** Whether the line belongs in the journal of searches. */
function isOfSearches(line: JournalLine | SearchJournalLine): line is SearchJournalLine {
  return line.type === 'single-search' || line.type === 'single-searched';
}

/** Whether there is a journal with at least one whole line. */
export function hasJournal(path: string): boolean {
  if (!existsSync(path)) return false;
  const file = openSync(path, 'r');
  try {
    return wholeLength(file) > 0;
  } finally {
    closeSync(file);
  }
}

/** The end of the last whole line of an open journal. After a power failure the last line may contain NULs. */
export function wholeLength(file: number): number {
  let end = fstatSync(file).size;
  for (;;) {
    end = afterLineFeed(file, end);
    if (end === 0) return 0;
    const begin = afterLineFeed(file, end - 1);
    const last = Buffer.alloc(end - begin);
    readSync(file, last, 0, last.length, begin);
    if (!last.includes(0)) return end;
    end = begin;
  }
}

/** The offset after the last line feed before `end`; 0 if there is none. */
function afterLineFeed(file: number, end: number): number {
  const piece = Buffer.alloc(Math.min(PIECE, end));
  for (let upTo = end; upTo > 0; ) {
    const from = Math.max(upTo - piece.length, 0);
    const read = readSync(file, piece, 0, upTo - from, from);
    const at = piece.subarray(0, read).lastIndexOf(LF);
    if (at >= 0) return from + at + 1;
    upTo = from;
  }
  return 0;
}

function* linesUpTo(file: number, end: number): Generator<string> {
  let rest = Buffer.alloc(0);
  for (let at = 0; at < end; ) {
    const piece = Buffer.alloc(Math.min(PIECE, end - at));
    readAll(file, piece, at);
    at += piece.length;
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let begin = 0;
    for (let to = bytes.indexOf(LF); to >= 0; to = bytes.indexOf(LF, begin)) {
      yield bytes.toString('utf8', begin, to);
      begin = to + 1;
    }
    rest = bytes.subarray(begin);
  }
}

function damagedError(path: string, line: number): ConfigError {
  return new ConfigError('JOURNAL_DAMAGED', `line ${line} of ${path} is not what was written`, {
    facts: { path, line },
  });
}

function newerError(path: string, version: number): ConfigError {
  return new ConfigError('JOURNAL_NEWER', `${path} is of a newer foliopipe (version ${version})`, {
    facts: { path, version },
  });
}
