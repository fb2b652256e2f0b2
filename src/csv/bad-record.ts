/** A record that cannot be used: what is wrong with it, where it stands, and the error that says so. */
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
  /** Its number: a bad record takes one like any other. */
  readonly record: number;
  /** Physical line on which it begins, 1-based, the header's lines included; 0 where it is not known. */
  readonly line: number;
  /** Decoded offset in the file at which it begins. */
  readonly byte: number;
  /** Its bytes without the line end, cut at `maxRecordBytes`; a copy. */
  readonly raw: Uint8Array;
  /** What is wrong, without the place. */
  readonly message: string;
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

/** Where the first record already differs from the header, it may be the header that is none. */
const NO_HEADER = 'see whether the first line is the header, ';

/** The error that stops a run at a bad record of the file at `path`. */
export function badRecordError(bad: BadRecord, path: string): SourceError {
  const place = bad.line > 0 ? `line ${bad.line}, byte ${bad.byte}` : `byte ${bad.byte}`;
  const mayLackHeader = bad.code === 'SOURCE_FIELD_COUNT' && bad.record === 1;
  return new SourceError(
    bad.code,
    `${path}: record ${bad.record} (${place}): ${bad.message}: ${showText(bad.raw)}`,
    {
      hint: `${mayLackHeader ? NO_HEADER : ''}${HINTS[bad.code]}`,
      facts: { file: path, record: bad.record, line: bad.line, byte: bad.byte },
    },
  );
}

/** Finds records whose text cannot be used: NUL bytes, and bytes that are not text in the source's encoding. */
export type BadTextCode = 'SOURCE_NUL' | 'SOURCE_ENCODING';

/** U+FFFD, which iconv-lite writes for bytes that mean nothing in the file's encoding. */
const REPLACEMENT = Buffer.from('\u{fffd}');

/**
 * What is wrong with the text of `bytes`, which hold whole records; undefined when nothing is. Native
 * calls over a whole batch: far cheaper than a look at each byte in the scanner's loop.
 *
 * In a `transcoded` file U+FFFD counts as bytes without meaning. A file that really holds that character
 * is refused too: after decoding the two cannot be told apart, and a lost letter must not pass unseen.
 */
export function badText(bytes: Uint8Array, transcoded: boolean): BadTextCode | undefined {
  if (bytes.indexOf(NUL) !== -1) return 'SOURCE_NUL';
  if (!isUtf8(bytes)) return 'SOURCE_ENCODING';
  if (transcoded && asBuffer(bytes).indexOf(REPLACEMENT) !== -1) return 'SOURCE_ENCODING';
  return undefined;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
