/** A record that cannot be used: what is wrong with it, where it begins, and the error that reports it. */
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
  /** Its number: bad records are counted like any other. */
  readonly record: number;
  /** Physical line on which it begins, 1-based, the header's lines included; 0 where it is not known. */
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
  const position = bad.line > 0 ? `line ${bad.line}, byte ${bad.byte}` : `byte ${bad.byte}`;
  // Where the first record already differs from the header, the file may have no header.
  const mayLackHeader = bad.code === 'SOURCE_FIELD_COUNT' && bad.record === 1;
  return new SourceError(
    bad.code,
    `${path}: record ${bad.record} (${position}): ${bad.message}: ${showText(bad.raw)}`,
    {
      hint: `${mayLackHeader ? 'see whether the first line is the header, ' : ''}${HINTS[bad.code]}`,
      facts: { file: path, record: bad.record, line: bad.line, byte: bad.byte },
    },
  );
}

const REJECT = 'or set source.onBadRecord: reject to go on without such records';

const HINTS: Readonly<Record<BadRecordCode, string>> = {
  SOURCE_QUOTE_NOT_CLOSED: `close the quoted field in the file, ${REJECT}`,
  SOURCE_QUOTE_MISPLACED: `quote the whole field and double the quotes within it, ${REJECT}`,
  SOURCE_FIELD_COUNT: `mend the record (is a field with a delimiter unquoted?), check source.delimiter, ${REJECT}`,
  SOURCE_NUL: `take the NUL bytes out; if the file is UTF-16, set source.encoding, for example utf16le; ${REJECT}`,
  SOURCE_ENCODING: `set source.encoding to what the file is really written in, such as utf8 or windows-1252, see whether the file is cut off, ${REJECT}`,
  SOURCE_RECORD_TOO_LARGE: `look for a quote that is never closed, or raise chunks.maxBytes (a record must fit into one chunk), ${REJECT}`,
};

/** What the message of a bad record needs to know. */
export interface BadRecordFacts {
  /** Fields that every record must have. */
  readonly fields: number;
  readonly maxRecordBytes: number;
  readonly transcoded: boolean;
  /** Fields of this record, where their number is wrong. */
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
      return transcoded ? 'bytes without meaning in the encoding it is read in' : 'bytes that are not UTF-8';
  }
}

export type BadTextCode = 'SOURCE_NUL' | 'SOURCE_ENCODING';

/**
 * What is wrong with the text of `bytes`, which hold whole records; undefined where nothing is. Uses native calls
 * over a whole batch: far cheaper than a check of each byte in the scanner's loop.
 *
 * In a `transcoded` file U+FFFD counts as bytes without meaning. A file that really holds that character is refused
 * too: after decoding the two look alike, and a lost letter must not pass unnoticed.
 */
export function badText(bytes: Uint8Array, transcoded: boolean): BadTextCode | undefined {
  if (bytes.indexOf(NUL) !== -1) return 'SOURCE_NUL';
  if (!isUtf8(bytes)) return 'SOURCE_ENCODING';
  if (transcoded && asBuffer(bytes).indexOf(REPLACEMENT) !== -1) return 'SOURCE_ENCODING';
  return undefined;
}

/** U+FFFD, which iconv-lite writes for bytes that mean nothing in the file's encoding. */
const REPLACEMENT = Buffer.from('\u{fffd}');

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
