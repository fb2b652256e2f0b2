/** Reads the header of a CSV: the column names, and the position where the first record may begin. */
import { isUtf8 } from 'node:buffer';
import { CsvError, type Info, parse } from 'csv-parse/sync';
import { SourceError } from '../errors.js';
import { showText } from '../text.js';
import { MARKED_UTF8 } from './bad-record.js';
import { contentEnd, LF, NUL, QUOTE } from './bytes.js';

export interface Header {
  readonly columns: string[];
  /** Decoded bytes before the first record. */
  readonly bytes: number;
}

/** Where a header begins, for messages. */
export interface HeaderPlace {
  /** The name of the file. */
  readonly name: string;
  readonly line: number;
  readonly byte: number;
  /** Whether the file begins with the byte order mark of UTF-8, and is read as UTF-8. Default: no. */
  readonly isMarkedUtf8?: boolean;
}

/**
 * Reads a header whose names must be distinct and not empty.
 *
 * @param decoded a file's first decoded bytes, enough to hold the whole header.
 * @param name the name of the file in messages.
 * @throws SourceError as `readNames` does; `SOURCE_COLUMN_TWICE` or `SOURCE_COLUMN_UNNAMED`.
 */
export function readHeader(decoded: Buffer, delimiter: string, name = 'the CSV'): Header {
  const place = { name, line: 1, byte: 0 };
  const header = readNames(decoded, delimiter, place);
  const firstAt = new Map<string, number>();
  for (const [at, column] of header.columns.entries()) {
    if (column.trim() === '') {
      throw malformed(
        'SOURCE_COLUMN_UNNAMED',
        place,
        `column ${at + 1} has no name`,
        'give every column a name',
      );
    }
    const before = firstAt.get(column);
    firstAt.set(column, at);
    if (before !== undefined) {
      throw malformed(
        'SOURCE_COLUMN_TWICE',
        place,
        `columns ${before + 1} and ${at + 1} are both called ${showText(column)}`,
        'give every column a name of its own',
      );
    }
  }
  return header;
}

/**
 * Reads a header whose names may be equal or empty.
 *
 * @param decoded the bytes from `place` on, enough to hold the whole header.
 * @throws SourceError `SOURCE_EMPTY` when there is no header, `SOURCE_QUOTE_NOT_CLOSED`, `SOURCE_QUOTE_MISPLACED`,
 * `SOURCE_NUL`, `SOURCE_ENCODING` or `SOURCE_LINE_ENDS` when it is malformed.
 */
export function readNames(decoded: Buffer, delimiter: string, place: HeaderPlace): Header {
  const { record: columns, info } = parseFirst(decoded, delimiter, place);
  const bytes = decoded.subarray(0, info.bytes);
  if (bytes.indexOf(NUL) !== -1) {
    throw malformed(
      'SOURCE_NUL',
      place,
      'a NUL byte',
      'is it a text file? if it is UTF-16, set source.encoding, for example utf16le',
    );
  }
  if (!isUtf8(bytes)) {
    throw malformed(
      'SOURCE_ENCODING',
      place,
      'bytes that are not UTF-8',
      place.isMarkedUtf8
        ? MARKED_UTF8
        : "set source.encoding to the file's encoding, for example windows-1252",
    );
  }
  if (isEndedByCarriageReturns(columns, bytes)) {
    throw malformed(
      'SOURCE_LINE_ENDS',
      place,
      'the lines end with CR without LF',
      'write the file again with LF or CRLF at the end of its lines',
    );
  }
  return { columns, bytes: bytes.length };
}

/** Whether lines end with CR: then no line feed ends the header, and the whole file was read as one line. */
function isEndedByCarriageReturns(columns: readonly string[], bytes: Buffer): boolean {
  return bytes.at(-1) !== LF && columns.some((column) => column.includes('\r'));
}

/** The first line, for a message: with an open quote, the header may be the whole file. */
function firstLine(decoded: Buffer): Buffer {
  const lineFeed = decoded.indexOf(LF);
  return lineFeed === -1 ? decoded : decoded.subarray(0, lineFeed);
}

interface FirstRecord {
  readonly record: string[];
  readonly info: Pick<Info, 'bytes'>;
}

/** Reads a record on one line without quotes, as most headers are. csv-parse takes twenty times as long for it. */
function plainFirst(decoded: Buffer, delimiter: string): FirstRecord | undefined {
  const lineFeed = decoded.indexOf(LF);
  const line = decoded.subarray(0, contentEnd(decoded, Math.max(lineFeed, 0)));
  if (line.length === 0 || line.includes(QUOTE)) return undefined;
  return { record: line.toString().split(delimiter), info: { bytes: lineFeed + 1 } };
}

function parseFirst(decoded: Buffer, delimiter: string, place: HeaderPlace): FirstRecord {
  const plain = plainFirst(decoded, delimiter);
  if (plain !== undefined) return plain;
  let found: FirstRecord[];
  try {
    found = parse(decoded, {
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
      to: 1,
      info: true,
    }) as unknown as FirstRecord[];
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    const isOpen = cause.code === 'CSV_QUOTE_NOT_CLOSED';
    const reason = isOpen ? 'a quoted name is never closed' : 'a quote neither opens nor closes a name';
    const hint = isOpen
      ? 'close the quoted name in the first line'
      : `quote the whole name and double the quotes within it${/" +"/.test(firstLine(decoded).toString()) ? OF_BLANKS : ''}`;
    const code = isOpen ? 'SOURCE_QUOTE_NOT_CLOSED' : 'SOURCE_QUOTE_MISPLACED';
    throw malformed(code, place, `${reason}: ${showText(firstLine(decoded))}`, hint, cause);
  }
  if (found[0] !== undefined) return found[0];
  throw new SourceError('SOURCE_EMPTY', `${place.name}: there is no header`, {
    hint: 'the first line must hold the column names',
    facts: { file: place.name },
  });
}

const OF_BLANKS =
  "; if blanks separate the fields, as R writes them: foliopipe plan --set 'source.delimiter= ' shows what is read then; then: foliopipe run --set 'source.delimiter= '";

function malformed(
  code: string,
  { name, line, byte }: HeaderPlace,
  reason: string,
  hint: string,
  cause?: unknown,
): SourceError {
  return new SourceError(code, `${name}: header (line ${line}, byte ${byte}): ${reason}`, {
    hint,
    facts: { file: name, line, byte },
    cause,
  });
}
