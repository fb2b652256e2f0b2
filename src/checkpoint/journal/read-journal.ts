/** Reads a run's journal: only whole lines with a correct checksum. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { ConfigError } from '../../errors.js';
import { decodeLine, type JournalLine, journalVersion, type SearchJournalLine } from './journal-line.js';

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

/** Such a line belongs into another journal. */
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
    at += readSync(file, piece, 0, piece.length, at);
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
