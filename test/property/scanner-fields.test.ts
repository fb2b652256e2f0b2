import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { COMMA, LF } from '../../src/csv/bytes.js';
import { scanBuffer } from '../../src/csv/scan-records.js';
import { writeField, writeValue } from '../../src/csv/write-field.js';
import { forTime } from '../helpers/properties/for-time.js';

const BUDGET = forTime(500, 20_000);

const value = fc
  .array(fc.constantFrom('a', 'ü', '📒', ' ', ',', ';', '"', '\r', '\n'), { maxLength: 5 })
  .map((v) => v.join(''));
const records = fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 6 });

function parsed(csv: Buffer): string[][] {
  return parse(csv, { record_delimiter: ['\r\n', '\n'] });
}

it('written values are read back by csv-parse as they were', () => {
  const out = new ByteWriter(16);
  fc.assert(
    fc.property(records, (rows) => {
      for (const [a, b] of rows) {
        writeValue(out, a);
        out.byte(COMMA);
        writeValue(out, b);
        out.byte(LF);
      }
      expect(parsed(out.take())).toEqual(rows);
    }),
    BUDGET,
  );
});

it('fields of a source in any delimiter become fields of a comma CSV with the same values', () => {
  const out = new ByteWriter(16);
  fc.assert(
    fc.property(records, fc.constantFrom(',', ';', ' '), fc.boolean(), (rows, delimiter, quoteAll) => {
      const raw = (v: string) =>
        quoteAll || /["\r\n]/.test(v) || v.includes(delimiter) ? `"${v.replaceAll('"', '""')}"` : v;
      const text = rows.map(([a, b]) => `${raw(a)}${delimiter}${raw(b)}\n`).join('');
      const options = { delimiter, fields: 2, maxRecordBytes: 1_000, file: 0, base: 0, firstRecord: 1 };
      const onBadRecord = () => expect.unreachable();
      for (const { bytes, count, starts, ends } of scanBuffer(Buffer.from(text), {
        ...options,
        onBadRecord,
      })) {
        for (let r = 0; r < count; r++) {
          writeField(out, bytes, starts[r]!, ends[r * 2]!, delimiter.charCodeAt(0));
          out.byte(COMMA);
          writeField(out, bytes, ends[r * 2]! + 1, ends[r * 2 + 1]!, delimiter.charCodeAt(0));
          out.byte(LF);
        }
      }
      const written = out.take();
      if (delimiter === ',') expect(written.toString()).toBe(text);
      expect(parsed(written)).toEqual(rows);
    }),
    BUDGET,
  );
});
