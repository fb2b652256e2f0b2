/** The delimiter of a file, by what each candidate would make of its first records. */
import { COMMA, CR, LF, QUOTE } from './ascii.js';

const CANDIDATES = [COMMA, 0x3b, 0x09, 0x7c];

/** Hundreds of records, of most files. */
const SAMPLE_BYTES = 64 * 1024;

/** What a sample looks like when it is read with one delimiter. */
export interface Reading {
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
export function detectDelimiter(bytes: Uint8Array): Reading {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  // One that does not occur makes a single column.
  const candidates = CANDIDATES.filter((delimiter) => delimiter === COMMA || sample.includes(delimiter));
  const readings = candidates.map((delimiter) => readWith(sample, delimiter));
  const fitting = readings.filter((r) => r.columns > 1 && r.agreeing * 2 > r.records);
  fitting.sort((a, b) => b.agreeing - a.agreeing || b.columns - a.columns);
  return fitting[0] ?? readings[0]!;
}

/** Reads a sample leniently; a last record that the sample cuts off is not counted, unless it is the first. */
export function readWith(sample: Uint8Array, delimiter: number): Reading {
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
