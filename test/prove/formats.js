/**
 * Writes many awkward rows as Parquet, reads them back and compares each cell; prints the peak of our own memory.
 * npm run prove:formats -- [--rows 5000000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../../bench/read-options.js';
import { writeParquet } from '../../dist/src/duckdb/write-parquet.js';
import { proveRows } from './formats/parquet-rows.js';

const { rows } = readOptions('npm run prove:formats -- [--rows N]', {
  rows: { type: 'count', default: '5000000' },
}).values;
const folder = mkdtempSync(join(tmpdir(), 'foliopipe-formats-'));
try {
  const began = performance.now();
  const writing = async (table) => {
    const from = performance.now();
    await writeParquet(table);
    const MB = process.resourceUsage().maxRSS / 1024;
    console.log(
      `written in ${((performance.now() - from) / 1000).toFixed(1)} s, our peak memory ${MB.toFixed(0)} MB`,
    );
  };
  const same = await proveRows(folder, rows, writing);
  if (same !== rows) throw new Error(`${same} rows in place of ${rows}`);
  console.log(`${same} rows are the same, in ${((performance.now() - began) / 1000).toFixed(0)} s`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
