/** A connection to the state that is closed: work in the background may still ask it. */
import { expect, it } from 'vitest';
import { statement } from '../../../src/postgres/statement.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { openStateConnection, useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const shared = useStateDatabase(usePostgres());

const ask = statement<{ one: number }>('SELECT 1 AS one');
const connections = () =>
  shared.database.query(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'foliopipe'",
  );

it('does not connect again, and answers what was asked before', async () => {
  const session = await openStateConnection(shared.database);
  const before = session.query(ask, {}, true);
  const closed = session.close();
  const after = session.query(ask, {}, true);
  await expect(after).rejects.toMatchObject({ code: 'STATE_DATABASE_LOST' });
  expect(await before).toEqual([{ one: 1 }]);
  await closed;
  await expect(session.query(ask, {}, true)).rejects.toMatchObject({ code: 'STATE_DATABASE_LOST' });
  await expect.poll(connections).toEqual([]);
});

it('records an outcome all the same, and leaves no connection that would keep the process from ending', async () => {
  const session = await openStateConnection(shared.database);
  const closed = session.close();
  expect(await session.query(ask, {}, 'outcome')).toEqual([{ one: 1 }]);
  await closed;
  expect(await session.query(ask, {}, 'outcome')).toEqual([{ one: 1 }]);
  await expect.poll(connections).toEqual([]);
});
