/** The check of a table while the load of another pipeline makes it. */
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { createLoadTarget } from '../../../src/load/configured-load.js';
import { createLoadsText } from '../../../src/load/loads-table.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';

const server = usePostgres();

it('waits for that load, and finds the table', async () => {
  const database = await server.createDatabase();
  const client = await database.connect();
  // As the first load of a database does it.
  const lock = (name: string) =>
    client.query(`select pg_advisory_xact_lock(hashtextextended('foliopipe public.${name}', 0))`);
  await client.query('begin');
  await lock('firms');
  const target = createLoadTarget({
    address: new DatabaseAddress(database.url),
    connectMs: 5_000,
    tempFolder: '/nowhere',
  });
  const columns = [
    { name: 'id', role: 'source' },
    { name: 'status', role: 'status' },
  ] as const;
  const way = { mode: 'append', onSchema: 'add', onRemoved: 'keep' } as const;
  const table = { pipeline: 'west', table: 'firms', columns, ...way };
  const checked = target.check(table, new AbortController().signal).catch((error: unknown) => error);
  const waiting = 'select from pg_locks where not granted';
  await expect.poll(async () => (await database.query(waiting)).length).toBe(1);
  await lock('foliopipe_loads');
  await client.query(createLoadsText('foliopipe_loads'));
  await client.query('create table firms (id text, status text, foliopipe_run text); commit');
  expect(await checked).toBeUndefined();
  await client.end();
});
