import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BadRecordCode } from '../../src/csv/bad-record.js';
import { RecordScan, type ScanOptions } from '../../src/csv/record-scan.js';
import { scanRecords } from '../../src/csv/scan-records.js';
import { cutAt, type Found, foundBy } from '../helpers/csv/batches.js';
import { forTime } from '../helpers/properties/for-time.js';

const FIELDS = 3;
const BUDGET = forTime(700, 20_000);

const CODES: Readonly<Record<string, BadRecordCode>> = {
  CSV_QUOTE_NOT_CLOSED: 'SOURCE_QUOTE_NOT_CLOSED',
  CSV_INVALID_CLOSING_QUOTE: 'SOURCE_QUOTE_MISPLACED',
  INVALID_OPENING_QUOTE: 'SOURCE_QUOTE_MISPLACED',
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: 'SOURCE_FIELD_COUNT',
};

/** What csv-parse finds up to its first error, whose code is the last element, translated to foliopipe's. */
function byCsvParse(text: string): unknown[] {
  const found: unknown[] = [];
  try {
    // A first record of the right length teaches csv-parse how many fields there are.
    parse(`h,h,h\n${text}`, {
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
      on_record: (record: string[]) => {
        found.push(record);
      },
    });
  } catch (error) {
    found.push(CODES[(error as { code: string }).code] ?? error);
  }
  return found.slice(1);
}

async function byScanner(pieces: Buffer[]): Promise<unknown[]> {
  const found = await foundBy(FIELDS, {}, (options) => scanRecords(pieces, options));
  const all = found.map((one) => ('values' in one ? one.values : one.code));
  const firstBad = all.findIndex((one) => typeof one === 'string');
  return firstBad === -1 ? all : all.slice(0, firstBad + 1);
}

/** Random text of the characters that have a meaning in CSV. */
const noise = fc
  .array(fc.constantFrom('a', 'é', ' ', ',', ',', '"', '""', '\r', '\n', '\n', '\r\n', 'a,b,c\n', '"x",'), {
    maxLength: 24,
  })
  .map((tokens) => tokens.join(''));

/** Well-formed CSV of three fields, in any mixture of line ends and quotes. */
const value = fc
  .array(fc.constantFrom('a', 'ü', '\u{1f4d2}', ' ', ',', '"', '\r', '\n'), { maxLength: 4 })
  .map((v) => v.join(''));
const field = fc
  .tuple(value, fc.boolean())
  .map(([v, quote]) => (quote || /[",\r\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v));
const wellFormed = fc
  .array(fc.tuple(field, field, field, fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\n')), { maxLength: 8 })
  .map((records) => records.map(([a, b, c, end]) => `${a},${b},${c}${end}`).join(''));

/** Behind a first record of random length, so that it lies anywhere in the kernel's blocks. */
const placed = fc
  .tuple(fc.nat(130), fc.oneof(noise, wellFormed))
  .map(([filler, text]) => (filler === 0 ? text : `${'x'.repeat(filler - 1)},,\n${text}`));

const cuts = fc.array(fc.nat(160), { maxLength: 6 });

it('finds the records, fields and refusals of csv-parse', async () => {
  await fc.assert(
    fc.asyncProperty(placed, cuts, async (text, offsets) => {
      expect(await byScanner(cutAt(Buffer.from(text), offsets))).toEqual(byCsvParse(text));
    }),
    BUDGET,
  );
});

it.each([
  '"a"\rb,c,d\n',
  '"a"b,c,d\n',
  'a"b",c,d\n',
  'a,b,"""c\n,"""\r\nd,e,f\n',
  'a,b,""\r\n"c",d,""\n',
  'a,b,"c"\r"\n',
  'a,b\n',
  'a,b,c,d\n',
  '\r\n\n"a",b,c\n\r\n',
  'a,"b\n\n,c',
])('finds the same as csv-parse in %j, wherever it begins', async (text) => {
  for (let filler = 1; filler <= 130; filler++) {
    const whole = `${'x'.repeat(filler)},,\n${text}`;
    expect(await byScanner([Buffer.from(whole)]), whole).toEqual(byCsvParse(whole));
  }
});

/** Scans in windows of this size, which grow where needed. */
function* scanIn(bytes: Buffer, windowBytes: number, options: ScanOptions) {
  const scan = new RecordScan(options, windowBytes);
  yield* scan.take(bytes);
  yield* scan.end();
}

it('finds the same good and bad records whatever its windows are', async () => {
  const bytes = fc
    .array(fc.oneof(placed, fc.constantFrom('\0', 'a,b,c\n', '\xff,b,c\r\n', 'a,"b\nc",d\n', 'xxxxxxxxxx')), {
      maxLength: 4,
    })
    .map((parts) => Buffer.from(parts.join(''), 'latin1'));
  const size = fc.integer({ min: 1, max: 150 });
  const scanWith = (windowBytes: number, content: Buffer, maxRecordBytes: number): Promise<Found[]> =>
    foundBy(FIELDS, { maxRecordBytes }, (options) => scanIn(content, windowBytes, options));
  await fc.assert(
    fc.asyncProperty(bytes, size, fc.integer({ min: 1, max: 150 }), async (content, windowBytes, max) => {
      expect(await scanWith(windowBytes, content, max)).toEqual(await scanWith(1_000, content, max));
    }),
    BUDGET,
  );
});

it('numbers every record once, and loses no byte that is not a line end or given up', async () => {
  await fc.assert(
    fc.asyncProperty(placed, fc.integer({ min: 1, max: 20 }), async (text, maxRecordBytes) => {
      const found = await foundBy(FIELDS, { maxRecordBytes }, (o) => scanRecords([Buffer.from(text)], o));
      expect(found.map((one) => one.record)).toEqual(found.map((_, i) => i + 1));
      // Only line ends precede the first record.
      const first = found[0]?.byte ?? Buffer.byteLength(text);
      expect(Buffer.from(text).subarray(0, first).toString()).toMatch(/^(\r?\n)*$/);
      const starts = found.map((one) => one.byte);
      expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
    }),
    BUDGET,
  );
});
