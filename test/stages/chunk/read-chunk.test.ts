import { expect, it } from 'vitest';
import { scanTable } from '../../../src/csv/scan-records.js';
import { rowsOfChunkFile } from '../../../src/stages/chunk/read-chunk.js';

it('the rows of a chunk file stand behind its header, however long a record is', () => {
  const long = 'x'.repeat(100_000);
  const { rows, options } = rowsOfChunkFile(Buffer.from(`id,name\n1,"a, b"\n2,${long}\n`));
  const { count, fields, bytes, starts, ends } = scanTable(rows, options);
  expect([count, fields]).toEqual([2, 2]);
  const records = [0, 1].map((row) => bytes.subarray(starts[row], ends[row * fields + fields - 1]));
  expect(records.map((record) => Buffer.from(record).toString())).toEqual(['1,"a, b"', `2,${long}`]);
});
