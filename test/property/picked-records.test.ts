/** Picked records come out of batches with gaps as a plain filter gives them, in blocks and in uploaded files. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecordScan } from '../../src/csv/record-scan.js';
import type { Batch } from '../../src/csv/table.js';
import { fieldValue } from '../../src/csv/table.js';
import { pickRecords } from '../../src/source/read-records.js';
import { createBlockReader } from '../../src/source/record-block.js';
import { cutChunks } from '../../src/stages/chunk/cut-chunks.js';
import { value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { forTime } from '../helpers/properties/for-time.js';

const setup = fc.record({
  /** `null` is a bad record. */
  rows: fc.array(fc.option(fc.tuple(value, value), { freq: 3 }), { minLength: 1, maxLength: 30 }),
  wanted: fc.uniqueArray(fc.integer({ min: 1, max: 32 })).map((some) => some.sort((a, b) => a - b)),
  cut: fc.nat({ max: 32 }),
  windowBytes: fc.integer({ min: 8, max: 400 }),
  take: fc.integer({ min: 1, max: 9 }),
  maxBytes: fc.integer({ min: 1, max: 60 }),
});

it('picks, blocks and cuts what a filter gives', async () => {
  await fc.assert(
    fc.asyncProperty(setup, async ({ rows, wanted, cut, windowBytes, take, maxBytes }) => {
      const lines = rows.map((cells) =>
        cells === null ? 'bad\n' : writeCsvRecord(cells, ';', (at) => at % 2 === 0, '\n'),
      );
      const lists = [wanted.slice(0, cut), wanted.slice(cut)];
      const picked = () => pickRecords(batchesOf(lines.join(''), windowBytes), lists);
      const expected = wanted.flatMap((number) => {
        const cells = rows[number - 1];
        return cells == null ? [] : [[String(number), ...cells]];
      });

      const reader = createBlockReader(picked());
      const found: string[][] = [];
      for (;;) {
        const block = await reader.take(take, { maxBytes });
        if (block.count === 0) break;
        expect(block.count === 1 || block.bytes.length <= maxBytes).toBe(true);
        for (let row = 0; row < block.count; row++) {
          found.push([String(block.numbers[row]), fieldValue(block, row, 0), fieldValue(block, row, 1)]);
        }
      }
      expect(found).toEqual(expected);

      const layout = { header: Buffer.from('id,a,b\n'), hasKey: true, fields: [0, 1], delimiter: 0x3b };
      const sent: string[][] = [];
      for await (const { chunk, content } of cutChunks(picked(), layout, {
        maxRecords: take,
        maxBytes: 1000,
      })) {
        const [, ...records] = parse(Buffer.from(content)) as string[][];
        expect([records[0]![0], records.at(-1)![0], records.length].map(Number)).toEqual([
          chunk.firstRecord,
          chunk.lastRecord,
          chunk.records,
        ]);
        sent.push(...records);
      }
      expect(sent).toEqual(expected);
    }),
    forTime(500, 1_000),
  );
});

/** Batches of windows of few bytes; those of a window with bad records have gaps. */
async function* batchesOf(text: string, windowBytes: number): AsyncGenerator<Batch> {
  const scan = new RecordScan(
    { delimiter: ';', fields: 2, maxRecordBytes: 1_000, file: 0, base: 0, firstRecord: 1 },
    windowBytes,
  );
  yield* scan.take(Buffer.from(text));
  yield* scan.end();
  scan.release();
}
