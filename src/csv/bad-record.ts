/** A record that cannot be used: the problem, its position, and what to correct. */
import { showText } from '../text.js';
import { asBuffer } from './bytes.js';

export type BadRecordCode =
  | 'SOURCE_QUOTE_NOT_CLOSED'
  | 'SOURCE_QUOTE_MISPLACED'
  | 'SOURCE_FIELD_COUNT'
  | 'SOURCE_NUL'
  | 'SOURCE_ENCODING'
  | 'SOURCE_RECORD_TOO_LARGE';

export interface BadRecord {
  readonly code: BadRecordCode;
  /** Index of the source file. */
  readonly file: number;
  /** The record's number. Bad records are counted like all others. */
  readonly record: number;
  /** Physical line on which it begins, 1-based, including the header's lines; 0 if it is unknown. */
  readonly line: number;
  /** Decoded offset in the file at which it begins. */
  readonly byte: number;
  /** A copy of its bytes without the line end, cut at `maxRecordBytes`. */
  readonly raw: Uint8Array;
  /** What is wrong, without the position. */
  readonly message: string;
}

/** Where a bad record is in its file, such as `record 17 (line 18, byte 1234)`. */
function badRecordPlace({ record, line, byte }: BadRecord): string {
  return `record ${record} (${line > 0 ? `line ${line}, ` : ''}byte ${byte})`;
}

/** A bad record in one line, without its file: place, problem and the beginning of its bytes. */
export function badRecordText(bad: BadRecord): string {
  return `${badRecordPlace(bad)}: ${bad.message}: ${showText(bad.raw)}`;
}

/** How the file of a bad record is read. */
export interface ReadAs {
  /** The delimiter, and where it comes from: see `delimiterText`. */
  readonly delimiter: string;
  /** Whether foliopipe has written the text itself, from the answer of a query or from Parquet. */
  readonly isOurs: boolean;
  /** Whether the file begins with the byte order mark of UTF-8, and is read as UTF-8. */
  readonly isMarkedUtf8: boolean;
}

/** What to correct so that the record is read. Alternatives are separated by `; or`. */
export function badRecordHint(bad: BadRecord, { delimiter, isOurs, isMarkedUtf8 }: ReadAs): string {
  if (isOurs) return OUR_HINTS[bad.code] ?? 'this is a bug in foliopipe: please report it';
  const { code, message, record } = bad;
  // If the very first record differs from the header, the file may have no header.
  const isFirst = code === 'SOURCE_FIELD_COUNT' && record === 1;
  const hint = message === NOT_UTF8 ? (isMarkedUtf8 ? MARKED_UTF8 : OTHER_THAN_UTF8) : HINTS[code];
  const check = code === 'SOURCE_FIELD_COUNT' ? `; or check the delimiter: ${delimiter}` : '';
  if (message.endsWith(UNENDED) && !isFirst) return `${MAY_BE_CUT}${hint}${check}`;
  return `${isFirst ? MAY_LACK_HEADER : ''}${isEscaped(bad) ? MAY_BE_ESCAPED : ''}${hint}${check}`;
}

const MAY_LACK_HEADER =
  'check that the first line is the header (source.skipLines skips lines before it, source.header names the columns of a file without one); or ';

const MAY_BE_CUT =
  'check that the file was written and copied completely: the records behind this one may be missing; or ';

/** Whether a backslash may have been meant as the escape of a delimiter. */
function isEscaped({ code, raw }: BadRecord): boolean {
  return code === 'SOURCE_FIELD_COUNT' && /\\[,;\t|]/.test(asBuffer(raw).toString('latin1'));
}

const MAY_BE_ESCAPED = `if the backslash is there to escape a delimiter: write the file with quotes instead (Snowflake: FIELD_OPTIONALLY_ENCLOSED_BY = '"'); or `;

const PLAIN = '; or set source.quote: none if the file quotes no field and its quotes are text';

const HINTS: Readonly<Record<BadRecordCode, string>> = {
  SOURCE_QUOTE_NOT_CLOSED: `check that the file is complete; or close the quoted field in it${PLAIN}`,
  SOURCE_QUOTE_MISPLACED: `quote the whole field and double the quotes within it${PLAIN}`,
  SOURCE_FIELD_COUNT: 'correct the record (is a field with a delimiter unquoted?)',
  SOURCE_NUL: 'remove the NUL bytes, or, if the file is UTF-16, set source.encoding, for example utf16le',
  SOURCE_ENCODING:
    "set source.encoding to the file's real encoding, such as utf8 or windows-1252 (--set source.encoding=NAME), or check that the file is complete",
  SOURCE_RECORD_TOO_LARGE:
    'look for a quote that is never closed, or raise chunks.maxBytes (a record must fit into one chunk)',
};

/** Hints for text that foliopipe has written: its encoding, delimiter and quotes are right. */
const OUR_HINTS: Partial<Readonly<Record<BadRecordCode, string>>> = {
  SOURCE_NUL: 'remove the NUL characters where the rows come from, such as with replace() in a query',
  SOURCE_RECORD_TOO_LARGE:
    'raise chunks.maxBytes (a row must fit into one chunk), or leave long columns out of the source',
};

const UNENDED = ', and the file ends there without a line end';

const NOT_UTF8 = 'bytes that are not UTF-8';

/** For a file that was read as UTF-8. */
const OTHER_THAN_UTF8 = HINTS.SOURCE_ENCODING.replace('utf8 or windows-1252', 'windows-1252 or latin1');

/** Suggests no other encoding, which would change the letters of all other records unnoticed. */
export const MARKED_UTF8 =
  'write these bytes as UTF-8 where the file comes from: its byte order mark says that it is UTF-8';

/** Facts for the message of a bad record. */
interface BadRecordFacts {
  /** Fields that every record must have. */
  readonly fields: number;
  readonly maxRecordBytes: number;
  readonly transcoded: boolean;
  /** Fields of this record, if their number is wrong. */
  readonly found: number;
  /** Offset of a misplaced quote in the record. */
  readonly quoteAt: number;
  /** Whether the file ends in a record with too few fields, without a line end. */
  readonly isUnended: boolean;
}

/** What is wrong with a record, without its position. */
export function badRecordMessage(code: BadRecordCode, facts: BadRecordFacts): string {
  const { fields, maxRecordBytes, transcoded, found, quoteAt, isUnended } = facts;
  switch (code) {
    case 'SOURCE_QUOTE_NOT_CLOSED':
      return 'a quoted field is never closed';
    case 'SOURCE_QUOTE_MISPLACED':
      return `the quote at byte ${quoteAt} of the record neither opens nor closes a field`;
    case 'SOURCE_FIELD_COUNT':
      return `the number of fields is ${found}, not ${fields}${isUnended ? UNENDED : ''}`;
    case 'SOURCE_RECORD_TOO_LARGE':
      return `longer than the ${maxRecordBytes} bytes that a record may have`;
    case 'SOURCE_NUL':
      return 'a NUL byte';
    case 'SOURCE_ENCODING':
      return transcoded ? 'bytes that are not valid in its encoding' : NOT_UTF8;
  }
}
