/** How a file is to be read, from its first bytes and from what the config fixes. */
import iconv from 'iconv-lite';
import { ConfigError } from '../errors.js';
import type { Dialect } from '../types.js';
import { COMMA, CR, LF, NUL, QUOTE } from './bytes.js';

export interface FixedDialect {
  /** `auto`, or a name that iconv-lite knows. */
  readonly encoding: string;
  /** `auto`, or one ASCII character. */
  readonly delimiter: string;
  readonly gzip: boolean;
}

/**
 * Encoding, byte order mark, delimiter and line ends of a file.
 *
 * @param sample its first unzipped bytes: 256 KiB, or all where it has less.
 * @throws ConfigError for an unknown encoding or an impossible delimiter.
 */
export function detectDialect(sample: Buffer, fixed: FixedDialect): Dialect {
  const { encoding, bom } = detectEncoding(sample, fixed.encoding);
  const text =
    encoding === 'utf8' ? sample.subarray(bom ? 3 : 0) : Buffer.from(iconv.decode(sample, encoding));
  const reading =
    fixed.delimiter === 'auto' ? detectDelimiter(text) : readWith(text, delimiterByte(fixed.delimiter));
  return {
    encoding,
    bom,
    delimiter: String.fromCharCode(reading.delimiter),
    newline: newlineOf(reading),
    gzip: fixed.gzip,
  };
}

function delimiterByte(delimiter: string): number {
  if (/^[\t\x20-\x7e]$/.test(delimiter) && delimiter !== '"') return delimiter.charCodeAt(0);
  throw new ConfigError(
    'CONFIG_DELIMITER',
    `source.delimiter: ${JSON.stringify(delimiter)} cannot separate fields: one ASCII character is expected`,
    { hint: 'use auto, or one character such as "," or ";" or "\\t"', facts: { delimiter } },
  );
}

function newlineOf({ lf, crlf }: Reading): Dialect['newline'] {
  if (lf > 0 && crlf > 0) return 'mixed';
  if (crlf > 0) return 'CRLF';
  return lf > 0 ? 'LF' : 'none';
}

/** The delimiter of a file, by what each candidate would make of its first records. */
const CANDIDATES = [COMMA, 0x3b, 0x09, 0x7c];

/** Hundreds of records, of most files. */
const SAMPLE_BYTES = 64 * 1024;

/** What a sample looks like when it is read with one delimiter. */
interface Reading {
  readonly delimiter: number;
  /** Of the first record. */
  readonly columns: number;
  readonly records: number;
  /** Records with as many fields as the first one, itself included, and no quote out of place. */
  readonly agreeing: number;
  /** Records that end with LF alone, and with CRLF. */
  readonly lf: number;
  readonly crlf: number;
}

/**
 * Comma, semicolon, tab or bar: the one under which most records agree with the first one on a number of
 * columns greater than one; of equals, the one with more columns; comma when none does.
 * @param bytes the file's first ones; 64 KiB of them are looked at.
 */
function detectDelimiter(bytes: Uint8Array): Reading {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  // One that does not occur makes a single column.
  const candidates = CANDIDATES.filter((delimiter) => delimiter === COMMA || sample.includes(delimiter));
  const readings = candidates.map((delimiter) => readWith(sample, delimiter));
  const fitting = readings.filter((r) => r.columns > 1 && r.agreeing * 2 > r.records);
  fitting.sort((a, b) => b.agreeing - a.agreeing || b.columns - a.columns);
  return fitting[0] ?? readings[0]!;
}

/** Reads a sample leniently; a last record that the sample cuts off is not counted, unless it is the first. */
function readWith(sample: Uint8Array, delimiter: number): Reading {
  let columns = 0;
  let records = 0;
  let agreeing = 0;
  let lf = 0;
  let crlf = 0;
  let fields = 1;
  let start = 0;
  let isFieldStart = true;
  let isQuoted = false;
  let isClosed = false;
  // Read with a wrong delimiter, quoted fields have quotes in the middle or text behind them.
  let isMisquoted = false;
  for (let i = 0; i < sample.length; i++) {
    const byte = sample[i];
    if (isQuoted) {
      if (byte !== QUOTE) continue;
      if (sample[i + 1] === QUOTE) i++;
      else {
        isQuoted = false;
        isClosed = true;
      }
    } else if (byte === QUOTE) {
      if (isFieldStart) isQuoted = true;
      else isMisquoted = true;
      isFieldStart = false;
    } else if (byte === delimiter) {
      fields++;
      isFieldStart = true;
      isClosed = false;
    } else if (byte === LF) {
      const isCrlf = i > start && sample[i - 1] === CR;
      if (i - start > (isCrlf ? 1 : 0)) {
        if (records === 0) columns = fields;
        if (fields === columns && !isMisquoted) agreeing++;
        records++;
        if (isCrlf) crlf++;
        else lf++;
      }
      fields = 1;
      start = i + 1;
      isFieldStart = true;
      isClosed = false;
      isMisquoted = false;
    } else {
      isFieldStart = false;
      if (isClosed && byte !== CR) isMisquoted = true;
    }
  }
  if (records === 0) return { delimiter, columns: fields, records: 1, agreeing: 1, lf, crlf };
  return { delimiter, columns, records, agreeing, lf, crlf };
}

/** The encoding of a file, from a byte order mark, from the NUL bytes of UTF-16, or from the config. */
export interface FoundEncoding {
  /** As iconv-lite knows it; `utf8` for UTF-8 however it was spelled. */
  readonly encoding: string;
  readonly bom: boolean;
}

/** UTF-32 before UTF-16: its little-endian mark begins with that of the other. */
const MARKS: readonly (readonly [encoding: string, mark: Buffer])[] = [
  ['utf8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf32le', Buffer.from([0xff, 0xfe, 0, 0])],
  ['utf32be', Buffer.from([0, 0, 0xfe, 0xff])],
  ['utf16le', Buffer.from([0xff, 0xfe])],
  ['utf16be', Buffer.from([0xfe, 0xff])],
];

/** iconv-lite knows these too, but they are not encodings of text. */
const NOT_TEXT = new Set(['base64', 'hex']);

/**
 * What a file is written in. `auto` is UTF-8 unless a byte order mark or a pattern of NUL bytes says
 * otherwise; a one-byte encoding is never guessed, because a wrong guess changes letters unseen.
 *
 * @param sample the file's first bytes, unzipped.
 * @param fixed the config's `source.encoding`.
 * @throws ConfigError `CONFIG_ENCODING` for a name that iconv-lite does not know.
 */
function detectEncoding(sample: Uint8Array, fixed: string): FoundEncoding {
  const name = fixed.toLowerCase().replace(/[^a-z0-9]/g, '');
  const marked = MARKS.find(([, mark]) => mark.equals(sample.subarray(0, mark.length)))?.[0];
  if (name === 'auto') {
    return { encoding: marked ?? utf16Without(sample) ?? 'utf8', bom: marked !== undefined };
  }
  if (name === 'utf16') {
    const bom = marked === 'utf16le' || marked === 'utf16be';
    return { encoding: bom ? marked : (utf16Without(sample) ?? 'utf16le'), bom };
  }
  if (NOT_TEXT.has(name) || !iconv.encodingExists(name)) {
    throw new ConfigError(
      'CONFIG_ENCODING',
      `source.encoding: ${JSON.stringify(fixed)} is not a known encoding`,
      {
        hint: 'use auto, or a name such as utf8, utf16le, latin1 or windows-1252',
        facts: { encoding: fixed },
      },
    );
  }
  return { encoding: name === 'utf8' ? name : fixed.toLowerCase(), bom: marked === name };
}

/** UTF-16 without a mark: text that is mostly ASCII has NUL as every second byte, and no others. */
function utf16Without(sample: Uint8Array): 'utf16le' | 'utf16be' | undefined {
  const pairs = Math.min(sample.length >> 1, 2048);
  let even = 0;
  let odd = 0;
  for (let pair = 0; pair < pairs; pair++) {
    if (sample[pair * 2] === NUL) even++;
    if (sample[pair * 2 + 1] === NUL) odd++;
  }
  if (odd > pairs / 2 && even === 0) return 'utf16le';
  if (even > pairs / 2 && odd === 0) return 'utf16be';
  return undefined;
}
