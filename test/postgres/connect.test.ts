/** A transaction of its own, such as that of a load, whatever limits the role has. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../src/config/sections/load-section.js';
import { ConfigError } from '../../src/errors.js';
import { withTransaction } from '../../src/postgres/connect.js';
import { openPostgres } from '../helpers/postgres/postgres.js';

it('is not ended by the time-outs of its role', async () => {
  const database = await (await openPostgres()).createDatabase();
  const address = new DatabaseAddress(await database.role('hurried', 'secret'));
  for (const limit of ['statement', 'transaction', 'idle_in_transaction_session']) {
    await database.query(`ALTER ROLE hurried SET ${limit}_timeout = '300ms'`);
  }
  const options = {
    address,
    connectMs: 10_000,
    begin: 'begin isolation level read committed',
    driverMissing: () => new ConfigError('LOAD_DRIVER_MISSING', 'there is no driver'),
    translate: (error: unknown) => error,
  };
  const asked = await withTransaction(options, new AbortController().signal, async ({ query }, commit) => {
    await query('SELECT pg_sleep(0.4)');
    await sleep(400);
    const { rows } = await query<{ one: number }>('SELECT 1 AS one');
    await commit();
    return rows;
  });
  expect(asked).toEqual([{ one: 1 }]);
});
