/**
 * Compares what the scanner found with csv-parse: record by record, refusal by refusal, byte by byte. csv-parse knows
 * the grammar. Which bytes belong to a refused record is a rule of foliopipe's own, and is written here.
 */
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';

const LF = 0x0a;
const CR = 0x0d;
const MISPLACED = new Set(['CSV_INVALID_CLOSING_QUOTE', 'INVALID_OPENING_QUOTE']);
const REPLACEMENT = Buffer.from('\u{fffd}');

/**
 * @param bytes what was scanned, which begins at a record.
 * @param grammar `delimiter`, `fields`, `maxRecordBytes`, `transcoded`, and `base`, `firstRecord` and `firstLine`
 *   of the first byte.
 * @param found good records as `{ record, byte, values }` and bad ones as they were reported, in order.
 */
export function verifyScan(bytes, grammar, found) {
  const { base = 0, firstRecord = 1, firstLine = 1 } = grammar;
  let at = 0;
  let next = 0;
  const lines = createLineCount(bytes, firstLine);
  const expectFound = (expected, start) => {
    const got = found[next];
    const place = { record: firstRecord + next, byte: base + start };
    const shown =
      'code' in expected ? { ...place, ...expected, line: lines(start) } : { ...place, ...expected };
    assert.deepEqual(got && pickKeys(got, Object.keys(shown)), shown);
    next += 1;
  };
  const refuse = (code, start, end, extra = {}) => {
    const raw = bytes.subarray(start, Math.min(end, start + grammar.maxRecordBytes)).toString('latin1');
    expectFound({ code, raw, ...extra }, start);
  };
  /** Refuses only the physical line on which the record began; csv-parse begins again after it. */
  const refuseLine = (code, start, problemAt) => {
    const lineFeed = bytes.indexOf(LF, problemAt);
    refuse(code, start, lineFeed === -1 ? bytes.length : contentEnd(bytes, start, lineFeed));
    return lineFeed === -1 ? bytes.length : lineFeed + 1;
  };

  // csv-parse takes a NUL after a closing quote for the end of the text. Byte 1 has as little meaning in CSV as NUL.
  const text = bytes.map((byte) => (byte === 0 ? 1 : byte));
  scan: while (at < bytes.length) {
    const { records, error } = csvParse(text.subarray(at), grammar.delimiter);
    const from = at;
    for (const { record, info } of records) {
      const start = afterEmptyLines(bytes, at);
      at = from + info.bytes;
      const end = contentEnd(bytes, start, bytes[at - 1] === LF ? at - 1 : at);
      if (end - start > grammar.maxRecordBytes) {
        at = refuseLine('SOURCE_RECORD_TOO_LARGE', start, start);
        continue scan;
      }
      const bad = badTextIn(bytes.subarray(start, end), grammar.transcoded);
      if (record.length !== grammar.fields) {
        const isCut = record.length < grammar.fields && bytes[at - 1] !== LF;
        const unended = isCut ? ', and the file ends there without a line end' : '';
        const message = `the number of fields is ${record.length}, not ${grammar.fields}${unended}`;
        refuse('SOURCE_FIELD_COUNT', start, end, { message });
      } else if (bad !== undefined) refuse(bad, start, end);
      else expectFound({ values: record.map((value) => Buffer.from(value, 'latin1').toString()) }, start);
    }
    if (error === undefined) break;

    const start = afterEmptyLines(bytes, at);
    if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
      const isTooLarge = bytes.length - start > grammar.maxRecordBytes;
      at = refuseLine(isTooLarge ? 'SOURCE_RECORD_TOO_LARGE' : 'SOURCE_QUOTE_NOT_CLOSED', start, start);
    } else if (found[next]?.code === 'SOURCE_RECORD_TOO_LARGE') {
      // The quote is after the most bytes that a record may have: csv-parse finds nothing wrong before it.
      expectFine(text.subarray(start, start + grammar.maxRecordBytes + 1), grammar.delimiter);
      at = refuseLine('SOURCE_RECORD_TOO_LARGE', start, start);
    } else {
      const quote = start + quoteOf(found[next]);
      expectFine(text.subarray(start, quote), grammar.delimiter);
      assert.ok(quote - start <= grammar.maxRecordBytes, 'a quote after the most bytes of a record');
      // The byte after a quote shows that it closes nothing; if that byte is CR, the two bytes after it do.
      const { error: seen } = csvParse(text.subarray(start, quote + 3), grammar.delimiter);
      assert.ok(MISPLACED.has(seen?.code), `the quote at ${quote} is in its place`);
      at = refuseLine('SOURCE_QUOTE_MISPLACED', start, quote);
    }
  }
  assert.equal(found.length, next, 'more was found than there is');
}

/**
 * Records by csv-parse, as Latin-1 texts that stand for bytes, and the error that ended them. Records with any number of
 * fields are accepted: the fields are counted here.
 */
function csvParse(bytes, delimiter) {
  const records = [];
  try {
    parse(bytes, {
      encoding: 'latin1',
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
      relax_column_count: true,
      on_record: (record, info) => {
        records.push({ record, info });
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    assert.ok(MISPLACED.has(error.code) || error.code === 'CSV_QUOTE_NOT_CLOSED', error.message);
    return { records, error };
  }
  return { records, error: undefined };
}

/** The text may end within quotes, but no quote of it is misplaced. */
function expectFine(bytes, delimiter) {
  const { error } = csvParse(bytes, delimiter);
  assert.ok(error === undefined || error.code === 'CSV_QUOTE_NOT_CLOSED', error?.message);
}

function quoteOf(found) {
  assert.equal(found?.code, 'SOURCE_QUOTE_MISPLACED');
  return Number(/the quote at byte (\d+) of the record/.exec(found.message)[1]);
}

function badTextIn(bytes, transcoded = false) {
  if (bytes.includes(0)) return 'SOURCE_NUL';
  if (!isUtf8(bytes) || (transcoded && bytes.includes(REPLACEMENT))) return 'SOURCE_ENCODING';
  return undefined;
}

function afterEmptyLines(bytes, from) {
  let at = from;
  for (;;) {
    if (bytes[at] === LF) at += 1;
    else if (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
    else return at;
  }
}

/** Where a record's or line's content ends, given its line feed or the end of all. */
function contentEnd(bytes, start, end) {
  return bytes[end] === LF && end > start && bytes[end - 1] === CR ? end - 1 : end;
}

/** Physical line of a byte; asked in order, so that every byte is looked at once. */
function createLineCount(bytes, firstLine) {
  let line = firstLine;
  let counted = 0;
  return (at) => {
    for (; counted < at; counted++) if (bytes[counted] === LF) line += 1;
    return line;
  };
}

function pickKeys(object, keys) {
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}
