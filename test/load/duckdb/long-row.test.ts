/** A row that is longer than what DuckDB is told to read, in a real load. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createDuckdbTarget } from '../../../src/load/duckdb/duckdb-target.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();

it('is named as too long, and not as something to report', async () => {
  const text = `id,note,status\n1,${'x'.repeat(17 * 1024 * 1024)},SUCCESSFUL\n`;
  const target = createDuckdbTarget({
    address: new DatabaseAddress(`duckdb:${join(await folder(), 'w.duckdb')}`),
    connectMs: 5_000,
    tempFolder: join(await folder(), 'temp'),
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
        yield Buffer.from(text);
      },
    },
  } as const;
  const loading = target.load(request, { signal: new AbortController().signal, at: () => undefined });
  await expect(loading).rejects.toMatchObject({
    code: 'LOAD_VALUE_UNFIT',
    exitCode: 2,
    message: expect.stringContaining('longer than the 16777216 bytes'),
  });
});
