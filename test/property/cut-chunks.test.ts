/** Chunks hold every record once and in order, keep to their limits, and do not depend on where cutting began. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scanRecords } from '../../src/csv/scan-records.js';
import {
  type CutChunk,
  createUploadLayout,
  cutChunks,
  maxRecordBytes,
} from '../../src/stages/chunk/cut-chunks.js';
import { cutAt } from '../helpers/csv/batches.js';
import { scramble, value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { forTime } from '../helpers/properties/for-time.js';

const strict = { record_delimiter: ['\r\n', '\n'], skip_empty_lines: true };

const setup = fc.record({
  records: fc.array(fc.tuple(value, value, value), { minLength: 1, maxLength: 25 }),
  delimiter: fc.constantFrom(',', ';', '\t'),
  newline: fc.constantFrom('\n', '\r\n'),
  keyColumn: fc.constantFrom('id', null),
  columns: fc.constantFrom<Record<string, string>>(
    { name: 'b', city: 'a' },
    { x: 'c' },
    { one: 'a', two: 'a', n: 'b' },
  ),
  maxRecords: fc.integer({ min: 1, max: 8 }),
  maxBytes: fc.integer({ min: 200, max: 500 }),
  cuts: fc.array(fc.nat(500), { maxLength: 4 }),
  seed: fc.nat(),
});

it('every record is in one chunk, in order, with exactly its values', async () => {
  await fc.assert(
    fc.asyncProperty(
      setup,
      async ({ records, delimiter, newline, keyColumn, columns, cuts, seed, ...limits }) => {
        const source = { columns: ['a', 'b', 'c'], files: [{ dialect: { delimiter } }] };
        const layout = createUploadLayout(source, { columns, keyColumn });
        const quoted = (n: number) => scramble(seed, n) % 2 === 0;
        const lines = records.map((values, r) =>
          writeCsvRecord(values, delimiter, (k) => quoted(3 * r + k), newline),
        );
        const largest = maxRecordBytes({ columns, keyColumn }, limits.maxBytes);
        fc.pre(lines.every((line) => Buffer.byteLength(line) <= largest));
        const bytes = Buffer.from(lines.join(''));

        const scan = (from: number, firstRecord: number) =>
          scanRecords(cutAt(bytes.subarray(from), cuts), {
            delimiter,
            fields: 3,
            maxRecordBytes: largest,
            file: 0,
            base: from,
            firstRecord,
            onBadRecord: (bad) => expect.fail(bad.message),
          });
        const cut = async (from: number, firstRecord: number) => {
          const found: { chunk: CutChunk['chunk']; text: string }[] = [];
          for await (const { chunk, content } of cutChunks(scan(from, firstRecord), layout, limits)) {
            found.push({ chunk, text: textOf(content) });
          }
          return found;
        };

        const chunks = await cut(0, 1);
        const fieldIndexes = Object.values(columns).map((column) => source.columns.indexOf(column));
        const expected = records.map((values, r) => [
          ...(keyColumn === null ? [] : [String(r + 1)]),
          ...fieldIndexes.map((field) => values[field]!),
        ]);
        const header = [...(keyColumn === null ? [] : [keyColumn]), ...Object.keys(columns)];
        const parsed = chunks.map(({ text }) => parse(text, strict) as string[][]);
        expect(parsed.flatMap(([, ...rows]) => rows)).toEqual(expected);

        for (const [at, { chunk }] of chunks.entries()) {
          expect(parsed[at]![0]).toEqual(header);
          expect(chunk.records).toBe(parsed[at]!.length - 1);
          expect(chunk.records).toBeLessThanOrEqual(limits.maxRecords);
          expect(chunk.bytes).toBe(Buffer.byteLength(chunks[at]!.text));
          expect(chunk.bytes).toBeLessThanOrEqual(limits.maxBytes);
        }

        const last = scramble(seed, 99) % chunks.length;
        const { end, lastRecord } = chunks[last]!.chunk;
        expect(await cut(end.offset, lastRecord + 1)).toEqual(chunks.slice(last + 1));
      },
    ),
    forTime(1_500),
  );
});

function textOf(content: CutChunk['content']): string {
  return Buffer.from(content).toString();
}
