/** Quotes that are text (`source.quote: none`): what csv-parse finds with `quote: false` is what the scanner finds. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { quoteText, TextQuoter, unquoteText } from '../../src/csv/quote-text.js';
import { scanBuffer, scanRecords } from '../../src/csv/scan-records.js';
import { fieldEnd, fieldStart } from '../../src/csv/table.js';
import { writeField } from '../../src/csv/write-field.js';
import { cutAt, foundBy } from '../helpers/csv/batches.js';
import { forTime } from '../helpers/properties/for-time.js';

const FIELDS = 2;
const BUDGET = forTime(500, 20_000);
const PLAIN = { record_delimiter: ['\r\n', '\n'], skip_empty_lines: true, quote: false as const };

const noise = fc
  .array(
    fc.constantFrom('a', 'é', ' ', ',', ',', '"', '"', '""', '\\', '\r', '\n', '\n', '\r\n', 'a,b\n', '"x",'),
    { maxLength: 24 },
  )
  .map((tokens) => tokens.join(''));
const cuts = fc.array(fc.nat(60), { maxLength: 6 });

function* quoted(pieces: readonly Buffer[]): Generator<Buffer> {
  const quoter = new TextQuoter(0x2c);
  for (const piece of pieces) yield* quoter.take(piece);
  yield* quoter.end();
}

/** All records, each bad one as its number of fields. */
function byCsvParse(text: string): unknown[] {
  const records: string[][] = parse(text, { ...PLAIN, relax_column_count: true });
  return records.map((record) => (record.length === FIELDS ? record : record.length));
}

it('finds the records of csv-parse, however the text is cut', async () => {
  await fc.assert(
    fc.asyncProperty(noise, cuts, async (text, offsets) => {
      const pieces = quoted(cutAt(Buffer.from(text), offsets));
      const found = await foundBy(FIELDS, {}, (options) => scanRecords(pieces, options));
      const all = found.map((one) =>
        'values' in one ? one.values : Number(/number of fields is (\d+)/.exec(one.message)?.[1]),
      );
      expect(all).toEqual(byCsvParse(text));
    }),
    BUDGET,
  );
});

it('gives the same bytes however the text is cut, and the text back', () => {
  fc.assert(
    fc.property(noise, cuts, (text, offsets) => {
      const whole = quoteText(Buffer.from(text), 0x2c);
      const pieces = [...quoted(cutAt(Buffer.from(text), offsets))].map((piece) => Buffer.from(piece));
      expect(Buffer.concat(pieces).toString()).toBe(whole.toString());
      expect(unquoteText(whole, 0x2c).toString()).toBe(text);
    }),
    BUDGET,
  );
});

it('writes fields that any reader of CSV reads as the same values', () => {
  fc.assert(
    fc.property(noise, fc.constantFrom(',', ';', '\t'), (text, delimiter) => {
      const own = text.replaceAll(',', delimiter);
      const byte = delimiter.charCodeAt(0);
      const out = new ByteWriter(100);
      const written: string[][] = [];
      const options = { delimiter, fields: FIELDS, maxRecordBytes: 1000, file: 0, base: 0, firstRecord: 1 };
      for (const batch of scanBuffer(quoteText(Buffer.from(own), byte), {
        ...options,
        onBadRecord: () => {},
      })) {
        for (let row = 0; row < batch.count; row++) {
          for (const field of [0, 1]) {
            if (field > 0) out.byte(0x2c);
            writeField(out, batch.bytes, fieldStart(batch, row, field), fieldEnd(batch, row, field), byte);
          }
          out.byte(0x0a);
          written.push([]);
        }
      }
      const records: string[][] = parse(own, { ...PLAIN, delimiter, relax_column_count: true });
      const good = records.filter((record) => record.length === FIELDS);
      expect(written.length).toBe(good.length);
      expect(parse(out.take(), { record_delimiter: '\n' })).toEqual(good);
    }),
    BUDGET,
  );
});

it.each([1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1, 1024 * 1024 + 2, 3 * 1024 * 1024])(
  'quotes a field of %i bytes the same way in any pieces',
  (size) => {
    for (const [field, end] of [
      ['x'.repeat(size), '\n'],
      ['x'.repeat(size), '\r\n'],
      [`${'x'.repeat(size - 1)}"`, '\r\n'],
      [`"${'x'.repeat(size - 2)}\r`, ''],
    ] as const) {
      const text = Buffer.from(`a,${field}${end}`);
      const isQuoted = size > 1024 * 1024 || field.includes('"');
      const value = isQuoted ? `"${field.replaceAll('"', '""')}"` : field;
      for (const pieces of [
        [text],
        cutAt(text, [3, size, size + 1, size + 2, size + 3]),
        cutAt(text, [700_000]),
      ]) {
        const given = [...quoted(pieces)].map((piece) => Buffer.from(piece));
        expect(Buffer.concat(given).equals(Buffer.from(`a,${value}${end}`))).toBe(true);
      }
    }
  },
);
