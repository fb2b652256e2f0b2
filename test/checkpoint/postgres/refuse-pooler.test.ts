/** A pooler that lends the connection of a session to others, as PgBouncer does in transaction mode. */
import { beforeAll, expect, it } from 'vitest';
import { refusePooler } from '../../../src/checkpoint/postgres/migrate.js';
import { translateStateError } from '../../../src/checkpoint/postgres/translate-state-error.js';
import { hintOf } from '../../../src/hints.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { openStateConnection } from '../../helpers/postgres/postgres-state.js';

const server = usePostgres();
let database: Database;

beforeAll(async () => {
  database = await server.createDatabase();
});

it('is refused where two sessions have one connection, and not where each has its own', async () => {
  const session = await openStateConnection(database);
  const other = await openStateConnection(database);
  await expect(refusePooler(session, other)).resolves.toBeUndefined();
  const error = await refusePooler(session, session).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'STATE_DATABASE_POOLED', exitCode: 2 });
  expect(hintOf(error)).toContain('pool_mode = session');
  for (const one of [session, other]) await one.close();
});

it('is known by a prepared statement that is gone, or is there already', () => {
  for (const code of ['26000', '42P05']) {
    const error = Object.assign(new Error('prepared statement'), { code, severity: 'ERROR' });
    expect(translateStateError(error, 'postgres://h/d')).toMatchObject({ code: 'STATE_DATABASE_POOLED' });
  }
});
