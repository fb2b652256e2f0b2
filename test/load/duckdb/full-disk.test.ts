import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createDuckdbTarget } from '../../../src/load/duckdb/duckdb-target.js';
import { keepDuckdb } from '../../helpers/duckdb/kept-duckdb.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const duckdb = keepDuckdb();
afterAll(duckdb.end);

it('a full disk below the copy of the output is reported with its path, and nothing is left behind', async () => {
  const tempFolder = join(await folder(), 'loads', 'nightly');
  const address = new DatabaseAddress(`duckdb:${join(await folder(), 'warehouse.duckdb')}`);
  const start: typeof duckdb.start = (...given) => {
    // A load begins with an empty folder. Each write to this device fails as on a full disk.
    mkdirSync(tempFolder, { recursive: true });
    symlinkSync('/dev/full', join(tempFolder, 'output.csv'));
    return duckdb.start(...given);
  };
  const target = createDuckdbTarget({ address, connectMs: 5_000, tempFolder, start });
  const text = Buffer.from('id,status\n1,FAILED\n');
  const loaded = target.load(
    {
      pipeline: 'nightly',
      table: 'businesses',
      mode: 'append',
      onSchema: 'add',
      onRemoved: 'keep',
      columns: [
        { name: 'id', role: 'source' },
        { name: 'status', role: 'status' },
      ],
      run: 'run-1',
      publication: 1,
      file: {
        bytes: text.length,
        sha256: '',
        records: 1,
        open: async function* () {
          yield text;
        },
      },
      delta: null,
    },
    { signal: new AbortController().signal, at: () => undefined },
  );
  await expect(loaded).rejects.toMatchObject({
    code: 'DISK_FULL',
    exitCode: 5,
    message: expect.stringContaining(join('loads', 'nightly')),
  });
  expect(existsSync(tempFolder)).toBe(false);
});
