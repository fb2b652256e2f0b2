/** A DuckDB file, and what other processes do with it and with a load into it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { startDuckdb } from '../../../src/duckdb/open-duckdb.js';
import { createDuckdbTarget } from '../../../src/load/duckdb/duckdb-target.js';
import type { LoadTable } from '../../../src/load/load-target.js';
import { queryDuckdb } from '../../helpers/duckdb/query-duckdb.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const signal = new AbortController().signal;
const table: LoadTable = {
  pipeline: 'nightly',
  table: 'businesses',
  mode: 'append',
  onSchema: 'add',
  onRemoved: 'keep',
  columns: [
    { name: 'id', role: 'source' },
    { name: 'status', role: 'status' },
  ],
};

it('a check leaves the files of a load that works meanwhile', async () => {
  const file = join(await folder(), 'warehouse.duckdb');
  const tempFolder = join(await folder(), 'temp');
  mkdirSync(tempFolder);
  writeFileSync(join(tempFolder, 'output.csv'), 'id,status\n');
  const target = createDuckdbTarget({
    address: new DatabaseAddress(`duckdb:${file}`),
    connectMs: 5_000,
    tempFolder,
  });
  await target.check(table, signal);
  expect(existsSync(join(tempFolder, 'output.csv'))).toBe(true);
});

it('a damaged file is reported at once, and not waited for like one that another process holds', async () => {
  const file = join(await folder(), 'warehouse.duckdb');
  await queryDuckdb(file, 'create table a as select range as x from range(100000)');
  await damage(file);
  let starts = 0;
  const start = () => {
    starts += 1;
    return startDuckdb();
  };
  const tempFolder = join(await folder(), 'temp');
  const address = new DatabaseAddress(`duckdb:${file}`);
  const target = createDuckdbTarget({ address, connectMs: 5_000, tempFolder, start });
  await expect(target.check(table, signal)).rejects.toMatchObject({
    code: 'LOAD_DATABASE_INVALID',
    message: expect.stringContaining('block'),
  });
  expect(starts).toBe(1);
});

/** Changes a byte of the second header, whose checksum then differs. */
async function damage(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  for (const at of [4096, 8192]) await handle.write(Buffer.from([0xff]), 0, 1, at + 100);
  await handle.close();
}
