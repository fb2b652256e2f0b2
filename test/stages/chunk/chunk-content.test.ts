import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scanTable } from '../../../src/csv/scan-records.js';
import { numbersInSource, rowsOfChunkFile } from '../../../src/stages/chunk/chunk-content.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, numberedSource } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();

it('the rows of a chunk file stand behind its header, however long a record is', () => {
  const long = 'x'.repeat(100_000);
  const { rows, options } = rowsOfChunkFile(Buffer.from(`id,name\n1,"a, b"\n2,${long}\n`));
  const { count, fields, bytes, starts, ends } = scanTable(rows, options);
  expect([count, fields]).toEqual([2, 2]);
  const records = [0, 1].map((row) => bytes.subarray(starts[row], ends[row * fields + fields - 1]));
  expect(records.map((record) => Buffer.from(record).toString())).toEqual(['1,"a, b"', `2,${long}`]);
});

it('the numbers of a chunk around a bad record are read from the source, which must not change', async () => {
  const source = numberedSource(4).replace('n3,', 'bad\nn3,');
  const path = join(await folder(), 'source.csv');
  const config = { source: { path, maxRejected: 1 }, chunks: { maxRecords: 4 } };
  const run = await createStageRun(await folder(), { source, config });
  const [chunk] = await collect(chunkRecords(run)());
  expect([...(await numbersInSource(run, chunk!))]).toEqual([1, 2, 4, 5]);
  await writeFile(path, source.replace('bad', 'b,d'));
  await expect(numbersInSource(run, chunk!)).rejects.toMatchObject({ code: 'SOURCE_CHANGED' });
});
