/** The kernel finds the records that JavaScript's `trim()` finds blank, wherever windows and files are cut. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecordScan } from '../../src/csv/record-scan.js';
import { scanBuffer } from '../../src/csv/scan-records.js';
import { type Batch, fieldValue } from '../../src/csv/table.js';
import { withoutBlank } from '../../src/source/read-records.js';
import { forTime } from '../helpers/properties/for-time.js';

const BUDGET = forTime(1_500, 2_000);

const spaces = [...' \t\v\f\u00a0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'];
/** Their neighbours, and characters that share their first bytes, are no white space. */
const others = [...'a0\u0001\u001f\u0085\u00a1\u180e\u1681\u200b\u2027\u2030\u2060\u3001\ufefe\u00c2é€😀'];
const text = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.constantFrom(...spaces), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...spaces, ...others), { maxLength: 4 }) },
);
const field = fc.record({
  text,
  quoted: fc.boolean(),
  inQuotes: fc.constantFrom('', '', '\n', '\r\n', '""', ','),
});
const records = fc.array(fc.tuple(field, field, field), { minLength: 1, maxLength: 60 });

function raw({
  text: characters,
  quoted,
  inQuotes,
}: {
  text: string[];
  quoted: boolean;
  inQuotes: string;
}): string {
  const value = characters.join('');
  return quoted ? `"${value}${inQuotes}"` : value;
}

const options = { delimiter: ',', fields: 3, maxRecordBytes: 1_000, file: 0, base: 0, firstRecord: 1 };
const onBadRecord = () => expect.unreachable();

function blankOf(batch: Batch, sentFields: readonly number[]): number[] {
  const isBlank = (row: number) => sentFields.every((one) => fieldValue(batch, row, one).trim() === '');
  return Array.from({ length: batch.count }, (_, row) => row).filter(isBlank);
}

const shown = (batch: Batch, row: number) => [
  batch.numbers[row]!,
  fieldValue(batch, row, 0),
  fieldValue(batch, row, 2),
];

it('finds the same records', async () => {
  await fc.assert(
    fc.asyncProperty(
      records,
      fc.constantFrom([0], [2], [0, 1], [2, 0], [0, 1, 2], [1, 1]),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.constantFrom('', '\n'),
      fc.integer({ min: 8, max: 200 }),
      async (given, sentFields, newline, last, window) => {
        // A line of white space alone is a record of one field: no field stands alone here.
        const csv = Buffer.from(given.map((fields) => fields.map(raw).join(',')).join(newline) + last);
        const scan = new RecordScan({ ...options, sentFields, onBadRecord }, window);
        let found = 0;
        for (const batches of [scan.take(csv), scan.end()]) {
          for (const batch of batches) {
            expect([...batch.blank!]).toEqual(blankOf(batch, sentFields));
            found += batch.count;
          }
        }
        scan.release();
        expect(found).toBe(given.length);

        const wanted: unknown[] = [];
        for (const batch of scanBuffer(csv, { ...options, sentFields, onBadRecord })) {
          const blank = blankOf(batch, sentFields);
          for (let row = 0; row < batch.count; row++)
            if (!blank.includes(row)) wanted.push(shown(batch, row));
        }
        const kept: unknown[] = [];
        for await (const batch of withoutBlank(scanAgain(csv, sentFields))) {
          for (let row = 0; row < batch.count; row++) {
            kept.push(shown(batch, row));
          }
        }
        expect(kept).toEqual(wanted);
      },
    ),
    BUDGET,
  );
});

async function* scanAgain(csv: Buffer, sentFields: readonly number[]): AsyncGenerator<Batch> {
  yield* scanBuffer(csv, { ...options, sentFields, onBadRecord });
}

it('gives no indexes where nobody asked for them', () => {
  const [batch] = scanBuffer(Buffer.from(' , ,\n'), { ...options, onBadRecord });
  expect(batch!.blank).toBeUndefined();
});
