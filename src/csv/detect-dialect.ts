/**
 * Detects the dialect of a file from its first text, except what the config fixes. Finds the delimiter by reading the
 * first records with each candidate.
 */
import { ConfigError } from '../errors.js';
import type { Dialect } from '../types.js';
import { COMMA, CR, LF, QUOTE } from './bytes.js';
import type { FoundEncoding } from './detect-encoding.js';

interface FixedDialect {
  /** `auto`, or one ASCII character. */
  readonly delimiter: string;
  /** `none`: quotes are text. */
  readonly quote?: 'auto' | 'none';
  readonly gzip: boolean;
}

/**
 * Detects delimiter and line ends of a file.
 *
 * @param text the beginning of the file, decoded: 64 KiB of it are read.
 * @throws ConfigError for an impossible delimiter.
 */
export function detectDialect(text: Buffer, { encoding, bom }: FoundEncoding, fixed: FixedDialect): Dialect {
  const isQuoted = fixed.quote !== 'none';
  const found =
    fixed.delimiter === 'auto'
      ? detectDelimiter(text, isQuoted)
      : readWith(text, delimiterByte(fixed.delimiter), isQuoted);
  return {
    encoding,
    bom,
    delimiter: String.fromCharCode(found.delimiter),
    newline: newlineOf(found),
    gzip: fixed.gzip,
    ...(!isQuoted && { quote: 'none' }),
  };
}

const TAB = 0x09;

function delimiterByte(delimiter: string): number {
  if (delimiter === '\\t') return TAB;
  if (/^[\t\x20-\x7e]$/.test(delimiter) && delimiter !== '"') return delimiter.charCodeAt(0);
  throw new ConfigError(
    'CONFIG_DELIMITER',
    `source.delimiter: ${JSON.stringify(delimiter)} cannot separate fields: one ASCII character is expected`,
    { hint: 'use auto, or one character such as , or ; or \\t (a tab)', facts: { delimiter } },
  );
}

function newlineOf({ lf, crlf }: Found): Dialect['newline'] {
  if (lf > 0 && crlf > 0) return 'mixed';
  if (crlf > 0) return 'CRLF';
  return lf > 0 ? 'LF' : 'none';
}

/** Comma, semicolon, tab and bar. */
const CANDIDATES = [COMMA, 0x3b, 0x09, 0x7c];

/** A delimiter for people, with its origin. @param fixed `source.delimiter`: `auto`, or the delimiter. */
export function delimiterText(delimiter: string, fixed: string): string {
  const origin = fixed === 'auto' ? 'detected; source.delimiter sets it' : 'set by source.delimiter';
  return `${JSON.stringify(delimiter)} (${origin})`;
}

/** Enough for hundreds of records of most files. */
const SAMPLE_BYTES = 64 * 1024;

/** The outcome of reading a sample with one delimiter. */
interface Reading {
  readonly delimiter: number;
  /** Fields of the first record. */
  readonly columns: number;
  readonly records: number;
  /** Records with as many fields as the first one (which counts too), and without a misplaced quote. */
  readonly agreeing: number;
  /** Records with one field more than the first one. */
  readonly longer: number;
  /** Records that end with LF without CR. */
  readonly lf: number;
  /** Records that end with CRLF. */
  readonly crlf: number;
}

/**
 * Chooses the candidate with which most records have as many columns as the first record, and more than one. Among equal
 * candidates, chooses the one with more columns. Without a candidate, chooses one with which all other records have one
 * field more than the first, as R writes them, else the comma.
 *
 * @param bytes the file's first bytes; 64 KiB of them are read.
 * @param hasQuotes whether a quote begins and ends a field; otherwise it is text.
 */
export function detectDelimiter(bytes: Uint8Array, hasQuotes: boolean): Found {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  // A delimiter that does not occur would give a single column.
  const candidates = CANDIDATES.filter((delimiter) => delimiter === COMMA || sample.includes(delimiter));
  if (candidates.length === 1 && endsWithLf(sample, hasQuotes)) return { delimiter: COMMA, lf: 1, crlf: 0 };
  const readings = candidates.map((delimiter) => readWith(sample, delimiter, hasQuotes));
  const fitting = readings.filter((r) => r.columns > 1 && r.agreeing * 2 > r.records);
  fitting.sort((a, b) => b.agreeing - a.agreeing || b.columns - a.columns);
  return fitting[0] ?? readings.find(isHeaderShort) ?? readings[0]!;
}

/** What is known about the chosen delimiter. The counts may be lower bounds. */
type Found = Pick<Reading, 'delimiter' | 'lf' | 'crlf'>;

/**
 * Whether all records certainly end with LF without CR: there is no CR, and no quote in the first line. Saves the slower
 * reading, because a source may have thousands of files.
 */
function endsWithLf(sample: Uint8Array, hasQuotes: boolean): boolean {
  const end = sample.indexOf(LF);
  return end > 0 && !(hasQuotes && sample.subarray(0, end).includes(QUOTE)) && !sample.includes(CR);
}

/** Whether the first record has one field fewer than each of the others. */
function isHeaderShort({ columns, records, longer }: Reading): boolean {
  return columns > 1 && longer > 1 && longer === records - 1;
}

/**
 * Reads a sample leniently with one delimiter. Does not count a last record that the sample cuts off, unless it is the
 * only record.
 *
 * @param hasQuotes see `detectDelimiter`.
 */
export function readWith(sample: Uint8Array, delimiter: number, hasQuotes: boolean): Reading {
  let columns = 0;
  let records = 0;
  let agreeing = 0;
  let longer = 0;
  let lf = 0;
  let crlf = 0;
  let fields = 1;
  let start = 0;
  let isFieldStart = true;
  let isQuoted = false;
  let isClosed = false;
  // With a wrong delimiter, quoted fields have quotes in the middle or text after the closing quote.
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
    } else if (byte === QUOTE && hasQuotes) {
      if (isFieldStart) isQuoted = true;
      else isMisquoted = true;
      isFieldStart = false;
    } else if (byte === delimiter) {
      fields++;
      isFieldStart = true;
      isClosed = false;
    } else if (byte === LF) {
      const isCrlf = sample[i - 1] === CR;
      if (i - start > (isCrlf ? 1 : 0)) {
        if (records === 0) columns = fields;
        if (!isMisquoted) {
          if (fields === columns) agreeing++;
          else if (fields === columns + 1) longer++;
        }
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
  if (records === 0) return { delimiter, columns: fields, records: 1, agreeing: 1, longer, lf, crlf };
  return { delimiter, columns, records, agreeing, longer, lf, crlf };
}
