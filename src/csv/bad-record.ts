/** A record that cannot be used: the problem, its position, and the error that reports it. */
import { isUtf8 } from 'node:buffer';
import { SourceError } from '../errors.js';
import { showText } from '../text.js';
import { NUL } from './bytes.js';

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

/** The error that stops a run at a bad record of the file at `path`. */
export function badRecordError(bad: BadRecord, path: string): SourceError {
  // If the very first record differs from the header, the file may have no header.
  const mayLackHeader = bad.code === 'SOURCE_FIELD_COUNT' && bad.record === 1;
  return new SourceError(bad.code, `${path}: ${badRecordPlace(bad)}: ${bad.message}: ${showText(bad.raw)}`, {
    hint: `${mayLackHeader ? MAY_LACK_HEADER : ''}${isEscaped(bad) ? MAY_BE_ESCAPED : ''}${bad.message === NOT_UTF8 ? OTHER_THAN_UTF8 : HINTS[bad.code]}`,
    facts: { file: path, record: bad.record, line: bad.line, byte: bad.byte },
  });
}

/** Where a bad record is in its file, such as `record 17 (line 18, byte 1234)`. */
export function badRecordPlace({ record, line, byte }: BadRecord): string {
  return `record ${record} (${line > 0 ? `line ${line}, ` : ''}byte ${byte})`;
}

const MAY_LACK_HEADER =
  'check that the first line is the header (source.skipLines skips lines before it, source.header names the columns of a file without one), ';

/** Whether a backslash may have been meant to take the meaning from a delimiter. */
function isEscaped({ code, raw }: BadRecord): boolean {
  return code === 'SOURCE_FIELD_COUNT' && /\\[,;\t|]/.test(asBuffer(raw).toString('latin1'));
}

const MAY_BE_ESCAPED = `if the backslash shall escape a delimiter: write the file with quotes instead (Snowflake: FIELD_OPTIONALLY_ENCLOSED_BY = '"'), `;

const REJECT = 'or set source.maxRejected, such as 10 or 0.5%, to go on without so many such records';

const PLAIN = 'set source.quote: none if the file quotes no field and its quotes are text, ';

const HINTS: Readonly<Record<BadRecordCode, string>> = {
  SOURCE_QUOTE_NOT_CLOSED: `close the quoted field in the file, ${PLAIN}${REJECT}`,
  SOURCE_QUOTE_MISPLACED: `quote the whole field and double the quotes within it, ${PLAIN}${REJECT}`,
  SOURCE_FIELD_COUNT: `correct the record (is a field with a delimiter unquoted?), check source.delimiter, ${REJECT}`,
  SOURCE_NUL: `remove the NUL bytes; if the file is UTF-16, set source.encoding, for example utf16le; ${REJECT}`,
  SOURCE_ENCODING: `set source.encoding to the file's real encoding, such as utf8 or windows-1252, check that the file is complete, ${REJECT}`,
  SOURCE_RECORD_TOO_LARGE: `look for a quote that is never closed, or raise chunks.maxBytes (a record must fit into one chunk), ${REJECT}`,
};

const NOT_UTF8 = 'bytes that are not UTF-8';

/** The file was read as UTF-8 already. */
const OTHER_THAN_UTF8 = HINTS.SOURCE_ENCODING.replace('utf8 or windows-1252', 'windows-1252 or latin1');

/** Facts for the message of a bad record. */
export interface BadRecordFacts {
  /** Fields that every record must have. */
  readonly fields: number;
  readonly maxRecordBytes: number;
  readonly transcoded: boolean;
  /** Fields of this record, if their number is wrong. */
  readonly found: number;
  /** Offset of a misplaced quote in the record. */
  readonly quoteAt: number;
}

/** What is wrong with a record, without its position. */
export function badRecordMessage(code: BadRecordCode, facts: BadRecordFacts): string {
  const { fields, maxRecordBytes, transcoded, found, quoteAt } = facts;
  switch (code) {
    case 'SOURCE_QUOTE_NOT_CLOSED':
      return 'a quoted field is never closed';
    case 'SOURCE_QUOTE_MISPLACED':
      return `the quote at byte ${quoteAt} of the record neither opens nor closes a field`;
    case 'SOURCE_FIELD_COUNT':
      return `the number of fields is ${found}, not ${fields}`;
    case 'SOURCE_RECORD_TOO_LARGE':
      return `longer than the ${maxRecordBytes} bytes that a record may have`;
    case 'SOURCE_NUL':
      return 'a NUL byte';
    case 'SOURCE_ENCODING':
      return transcoded ? 'bytes that are not valid in its encoding' : NOT_UTF8;
  }
}

export type BadTextCode = 'SOURCE_NUL' | 'SOURCE_ENCODING';

/**
 * The problem with the text of `bytes`, which hold whole records; undefined if there is none. Uses native calls over a
 * whole batch: they are far cheaper than a check of each byte in the scanner's loop.
 *
 * In a `transcoded` file U+FFFD counts as invalid bytes. This also rejects a file that really holds the character:
 * after decoding both look the same, and a lost letter must not go unnoticed.
 */
export function badText(bytes: Uint8Array, transcoded: boolean): BadTextCode | undefined {
  if (bytes.indexOf(NUL) !== -1) return 'SOURCE_NUL';
  if (!isUtf8(bytes)) return 'SOURCE_ENCODING';
  if (transcoded && asBuffer(bytes).indexOf(REPLACEMENT) !== -1) return 'SOURCE_ENCODING';
  return undefined;
}

/** U+FFFD, which iconv-lite writes for bytes that are not valid in the file's encoding. */
const REPLACEMENT = Buffer.from('\u{fffd}');

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
