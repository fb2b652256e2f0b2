/**
 * A database that is there and cannot do now what it is asked: rows that others have locked, no connection left, a server
 * that has become a standby. What the service has said of a paid request is recorded all the same.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLeases } from '../../../src/checkpoint/postgres/lease.js';
import type { PostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { type Prepared, statement } from '../../../src/postgres/statement.js';
import { sampleBudget, sampleChunk, sampleRun } from '../../helpers/checkpoint/samples.js';
import { type Database, lockWaits, usePostgres } from '../../helpers/postgres/postgres.js';
import { openState, openStateConnection } from '../../helpers/postgres/postgres-state.js';

const server = usePostgres();
let database: Database;
/** The same database for a role that has no others, and its name. */
let own: Database;
let role: string;
let state: PostgresState;

beforeEach(async () => {
  database = await server.createDatabase();
  const name = new URL(database.url).pathname.slice(1);
  role = `worker_of_${name}`;
  own = { ...database, url: await database.role(role, 'secret') };
  await database.query(`GRANT CREATE ON DATABASE ${name} TO ${role}`);
  state = await openState(own);
  await state.checkpoint.recordRun(sampleRun('r1'));
  await state.checkpoint.recordCut('r1', sampleChunk(1));
  await state.checkpoint.recordIntent('r1', 1, { before: 'a-', after: '.csv' }, 1, sampleBudget());
});
afterEach(() => state.close());

const accepted = () =>
  state.checkpoint.recordAccepted('r1', 1, { folio: 'F-1', serviceRecords: 10, rehearsal: false }, 9);
const isRecorded = async () => {
  expect(await state.checkpoint.chunk('r1', 1)).toMatchObject({ state: 'submitted', folio: 'F-1' });
};
const endConnections = () =>
  database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);

it('records a folio whose statement was cancelled while it waited for a lock', async () => {
  const other = await database.connect();
  await other.query("BEGIN; SELECT 1 FROM foliopipe.uploads WHERE run = 'r1' FOR UPDATE");
  const recording = accepted();
  const cancelled = () =>
    database.query(
      "SELECT pg_cancel_backend(pid) AS done FROM pg_stat_activity WHERE usename = $1 AND wait_event_type = 'Lock'",
      [role],
    );
  for (const _ of [1, 2]) await expect.poll(cancelled, { timeout: 10_000 }).toEqual([{ done: true }]);
  await other.query('ROLLBACK');
  await recording;
  await isRecorded();
  await other.end();
}, 30_000);

it('waits for a folio that its predecessor records just now', async () => {
  const other = await database.connect();
  await other.query("BEGIN; UPDATE foliopipe.uploads SET state = 'accepted', folio = 'F-1' WHERE run = 'r1'");
  const interrupted = state.checkpoint.recordInterrupted('r1');
  await expect.poll(() => lockWaits(database), { timeout: 10_000 }).toEqual([{ one: 1 }]);
  await other.query(
    "UPDATE foliopipe.chunks SET state = 'submitted', folio = 'F-1' WHERE run = 'r1'; COMMIT",
  );
  expect(await interrupted).toBe(0);
  await isRecorded();
  await other.end();
}, 30_000);

it('records a folio when a connection is left again', async () => {
  await database.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
  await endConnections();
  const recording = accepted();
  await new Promise((resolve) => setTimeout(resolve, 700));
  await database.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`);
  await recording;
  await isRecorded();
}, 30_000);

it('records a folio when the server takes changes again', async () => {
  await database.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
  await endConnections();
  const recording = accepted();
  await new Promise((resolve) => setTimeout(resolve, 700));
  await database.query(`ALTER ROLE ${role} RESET default_transaction_read_only`);
  await recording;
  await isRecorded();
}, 30_000);

it('ends a lease with why it could not be renewed, and not as if the process had been paused', async () => {
  const session = await openStateConnection(own);
  const leases = createLeases(async () => session, { held: undefined }, { lease: 3_000, renew: 500 });
  const held = await leases.take('nightly', { pid: 4242, command: 'foliopipe run', since: 0 });
  await database.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
  await endConnections();
  await vi.waitUntil(() => held.lost?.aborted, { timeout: 15_000 });
  expect(held.lost?.reason).toMatchObject({ code: 'STATE_DATABASE_READ_ONLY' });
  await held.close();
  await session.close();
  await database.query(`ALTER ROLE ${role} RESET default_transaction_read_only`);
}, 30_000);

it('works as it should whatever is set for the role', async () => {
  // A comparison with a cap would not see what another process has spent just before.
  await database.query(`ALTER ROLE ${role} SET default_transaction_isolation = 'repeatable read'`);
  await database.query(`ALTER ROLE ${role} SET transaction_timeout = '1s'`);
  const session = await openStateConnection(own);
  const settings: Prepared<Record<string, string>> = statement(
    `SELECT ${['transaction_isolation', 'transaction_timeout'].map((name) => `current_setting('${name}') AS ${name}`)}`,
  );
  expect(await session.query(settings, {}, true)).toEqual([
    { transaction_isolation: 'read committed', transaction_timeout: '0' },
  ]);
  await session.close();
});
