/** The names of a file's columns: those of its header, numbered if that is wanted, or those of the config. */
import { unquoteText } from '../csv/quote-text.js';
import { type Header, type HeaderPlace, readNames } from '../csv/read-header.js';
import { SourceError } from '../errors.js';
import { countOf } from '../quantities.js';
import { showText } from '../text.js';
import type { Dialect } from '../types.js';
import { isTranscoded } from './read-decoded.js';

/** `first` and `rename` take the names of the first record; a list is for files without a header (`source.header`). */
export type HeaderOption = 'first' | 'rename' | readonly string[];

interface HeaderFile {
  readonly dialect: Dialect;
  /** Where the decoded text begins. */
  readonly place: HeaderPlace;
  /** Whether the decoded text ends with the file. */
  readonly isWhole: boolean;
}

/**
 * @param decoded the file's text from the header on.
 * @returns names that may be equal or empty under `first`.
 * @throws SourceError as `readNames` does; `SOURCE_RECORD_TOO_LARGE`; `SOURCE_HEADER_COUNT` or `SOURCE_HEADER_FOUND` for
 *   a list that does not fit.
 */
export function readColumns(decoded: Buffer, file: HeaderFile, option: HeaderOption): Header {
  if (typeof option !== 'string') {
    checkFirstRecord(decoded, file, option);
    return { columns: [...option], bytes: 0 };
  }
  const { dialect, place } = file;
  const header = readNames(decoded, dialect.delimiter, place);
  const { line, byte, name } = place;
  if (header.bytes === decoded.length && !file.isWhole) {
    throw new SourceError(
      'SOURCE_RECORD_TOO_LARGE',
      `${name}: header (line ${line}, byte ${byte}): no end within ${decoded.length} bytes`,
      {
        hint: 'is this a CSV file, with LF or CRLF at the end of its lines?',
        facts: { file: name, line, byte },
      },
    );
  }
  if (isTranscoded(dialect) && header.columns.some((column) => column.includes('\u{fffd}'))) {
    throw new SourceError(
      'SOURCE_ENCODING',
      `${name}: header (line ${line}, byte ${byte}): bytes that are not valid ${dialect.encoding}`,
      {
        hint: "set source.encoding to the file's real encoding, such as utf8 or windows-1252",
        facts: { file: name, line, byte },
      },
    );
  }
  return option === 'rename' ? { ...header, columns: renameColumns(header.columns) } : header;
}

/**
 * Makes the names distinct. The first column with a name keeps it, the next ones are called `name_2`, `name_3` and so on.
 * A column without a name is called `column_7`, by its place. A name of the header is never given to another column.
 */
export function renameColumns(names: readonly string[]): string[] {
  const taken = new Set(names);
  const used = new Set<string>();
  return names.map((name, at) => {
    const isNamed = name.trim() !== '';
    const wanted = isNamed ? name : `column_${at + 1}`;
    let own = wanted;
    for (let number = 2; used.has(own) || (taken.has(own) && !(isNamed && own === name)); number++) {
      own = `${wanted}_${number}`;
    }
    used.add(own);
    return own;
  });
}

/**
 * Compares the first record with the names of the config. A malformed record is left to the scan, which names every
 * problem.
 */
function checkFirstRecord(decoded: Buffer, file: HeaderFile, names: readonly string[]): void {
  const { dialect, place, isWhole } = file;
  // The added line end is for a single record without one: with a CR in quotes, it would be refused for its line ends.
  const first = firstRecord(Buffer.concat([decoded, LINE_END]), dialect.delimiter, place);
  if (first === undefined || (first.bytes >= decoded.length && !isWhole)) return;
  // Throws if lines end with CR without LF, so that all of them were read as one.
  if (first.columns.length !== names.length || names.length === 1)
    readNames(decoded, dialect.delimiter, place);
  const { name, line } = place;
  const facts = { file: name, line, named: names.length, fields: first.columns.length };
  if (first.columns.length !== names.length) {
    const read = decoded.subarray(0, first.bytes);
    const isText = dialect.quote === 'none';
    const beginning = showText(isText ? unquoteText(read, dialect.delimiter.charCodeAt(0)) : read);
    throw new SourceError(
      'SOURCE_HEADER_COUNT',
      `${name}: source.header names ${countOf(names.length, 'column')}, and the first record (line ${line}) has ${countOf(first.columns.length, 'field')}: ${beginning}`,
      {
        hint: 'name every column of the file in source.header, in the order of the file; check source.delimiter and source.skipLines',
        facts,
      },
    );
  }
  if (first.columns.every((value, at) => value === names[at])) {
    throw new SourceError(
      'SOURCE_HEADER_FOUND',
      `${name}: the first record (line ${line}) holds the names in source.header: the file has a header`,
      { hint: 'leave source.header out, or skip the header with source.skipLines', facts },
    );
  }
}

const LINE_END = Buffer.from('\n');

function firstRecord(decoded: Buffer, delimiter: string, place: HeaderPlace): Header | undefined {
  try {
    return readNames(decoded, delimiter, place);
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}
