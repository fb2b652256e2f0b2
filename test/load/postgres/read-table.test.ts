/** Types of the columns of a Postgres table, to which the texts of an output are cast. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createLoadTarget } from '../../../src/load/configured-load.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';

const server = usePostgres();

it('a cast to a type without its length cuts nothing', async () => {
  const { url, query } = await server.createDatabase();
  await query(
    'create table firms (id text primary key, flags bit(3), more bit(3)[], tag char(4), since timestamp(3), status text)',
  );
  const row = `a,101,"{110,011}",ab,2026-11-26 01:02:03.456,SUCCESSFUL`;
  const text = `id,flags,more,tag,since,status\n${row}\n`;
  const columns = [
    { name: 'id', role: 'key' as const },
    ...['flags', 'more', 'tag', 'since'].map((name) => ({ name, role: 'source' as const })),
    { name: 'status', role: 'status' as const },
  ];
  const target = createLoadTarget({ address: new DatabaseAddress(url), connectMs: 5_000, tempFolder: '' });
  const file = {
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
    records: 1,
    open: async function* () {
      yield Buffer.from(text);
    },
  };
  const more = {
    pipeline: 'nightly',
    table: 'firms',
    mode: 'merge',
    onSchema: 'fail',
    onRemoved: 'keep',
  } as const;
  const request = { ...more, columns, run: 'run-1', publication: 1, file, delta: null };
  const options = { signal: new AbortController().signal, at: () => undefined };
  expect(await target.load(request, options)).toMatchObject({ written: 1 });
  expect(await query('select flags::text, more::text, tag::text, since::text from firms')).toEqual([
    { flags: '101', more: '{110,011}', tag: 'ab', since: '2026-11-26 01:02:03.456' },
  ]);
  expect(await target.load({ ...request, publication: 2 }, options)).toMatchObject({ written: 0 });
});
