/** A row that is longer than what DuckDB is told to read, in a real load. */
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createDuckdbTarget } from '../../../src/load/duckdb/duckdb-target.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();

it('is named as too long, and not as something to report; nobody else may read the copy of the output', async () => {
  const tempFolder = join(await folder(), 'temp');
  const copy = join(tempFolder, 'output.csv');
  const modes: number[] = [];
  const text = `id,note,status\n1,${'x'.repeat(17 * 1024 * 1024)},SUCCESSFUL\n`;
  const target = createDuckdbTarget({
    address: new DatabaseAddress(`duckdb:${join(await folder(), 'w.duckdb')}`),
    connectMs: 5_000,
    tempFolder,
  });
  const request = {
    pipeline: 'nightly',
    table: 'firms',
    mode: 'replace',
    onSchema: 'add',
    onRemoved: 'keep',
    columns: ['id', 'note', 'status'].map((name) => ({
      name,
      role: name === 'status' ? ('status' as const) : ('source' as const),
    })),
    run: 'run-1',
    publication: 1,
    delta: null,
    file: {
      bytes: Buffer.byteLength(text),
      sha256: createHash('sha256').update(text).digest('hex'),
      records: 1,
      open: async function* () {
        yield Buffer.from(text.slice(0, 20));
        await expect.poll(() => existsSync(copy)).toBe(true);
        modes.push(...[tempFolder, copy].map((path) => statSync(path).mode & 0o777));
        yield Buffer.from(text.slice(20));
      },
    },
  } as const;
  const loading = target.load(request, { signal: new AbortController().signal, at: () => undefined });
  await expect(loading).rejects.toMatchObject({
    code: 'LOAD_VALUE_UNFIT',
    exitCode: 2,
    message: expect.stringContaining('longer than the 16777216 bytes'),
  });
  expect(modes).toEqual([0o700, 0o600]);
});
