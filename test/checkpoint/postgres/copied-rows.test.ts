/** Rows that are copied into a state in Postgres, however many. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copiedTables } from '../../../src/checkpoint/copy/copied-tables.js';
import { addedRows, hasRowsOf, postgresRows } from '../../../src/checkpoint/copy/postgres-rows.js';
import { sqliteRows } from '../../../src/checkpoint/copy/sqlite-rows.js';
import { openReadingConnection } from '../../../src/checkpoint/sqlite/open-for-reading.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { type Prepared, statement } from '../../../src/postgres/statement.js';
import { sampleRun } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { openStateConnection, useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const folder = useFolder();
const shared = useStateDatabase(usePostgres());

const prepared: Prepared<{ count: number }> = statement(
  "SELECT count(*) AS count FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO spending%'",
);

it('take no more memory of the server for each page', async () => {
  const session = await openStateConnection(shared.database);
  const rows = postgresRows(session);
  const spending = copiedTables().find(({ name }) => name === 'spending')!;
  for (const page of [0, 1, 2, 3]) {
    const of = (at: number) => ['nightly', `2026-11-${page}`, `r${at}`, at] as const;
    await rows.write(
      spending,
      Array.from({ length: 250 }, (_, at) => of(at)),
    );
  }
  // One for a whole page, and one for the last rows.
  expect(await session.query(prepared, {}, true)).toEqual([{ count: 2 }]);
  expect(await shared.database.query('SELECT count(*)::int AS rows FROM foliopipe.spending')).toEqual([
    { rows: 1_000 },
  ]);
  await session.close();
});

it('have all columns of a state in SQLite, and no others than those that Postgres derives', async () => {
  for (const { name, columns } of copiedTables()) {
    const rows = await shared.database.query(
      "SELECT column_name::text AS name FROM information_schema.columns WHERE table_schema = 'foliopipe' AND table_name = $1",
      [name],
    );
    const derived = name === 'runs' ? ['nth', 'source_sha256', 'record_limit'] : [];
    expect(rows.map((row) => String(row.name)).sort(), name).toEqual([...columns, ...derived].sort());
  }
});

it('know the limit of a sample, so that no night goes on with it', async () => {
  const stateDir = await folder();
  const checkpoint = await openSqliteCheckpoint(stateDir);
  const sample = { ...sampleRun('r1').source, limit: 5 };
  await checkpoint.recordRun(sampleRun('r1', { source: sample }));
  await checkpoint.close();
  const connection = openReadingConnection(join(stateDir, 'checkpoint.db'))!;
  const session = await openStateConnection(shared.database);
  const runs = copiedTables().find(({ name }) => name === 'runs')!;
  await sqliteRows(connection).read(runs, (rows) => postgresRows(session).write(runs, rows));
  const found = await shared.database.query('SELECT record_limit::int AS most FROM foliopipe.runs');
  expect(found).toEqual([{ most: 5 }]);
  await session.close();
  connection.close();
});

it('are found again also in a state that has searches and no run', async () => {
  const stateDir = await folder();
  const checkpoint = await openSqliteCheckpoint(stateDir);
  const search = { id: 's1', pipeline: 'asked', service: 'https://service.example', startedAt: 1 };
  await checkpoint.recordSingleSearchIntent(search, {
    day: '2026-11-28',
    perRun: null,
    perDay: null,
    perMonth: null,
  });
  await checkpoint.close();
  const connection = openReadingConnection(join(stateDir, 'checkpoint.db'))!;
  const rows = sqliteRows(connection);
  const session = await openStateConnection(shared.database);
  await session.transaction('BEGIN', async (query) => {
    expect(await hasRowsOf(query, rows)).toBe(false);
    const searches = copiedTables().find(({ name }) => name === 'single_searches')!;
    await rows.read(searches, (page) => addedRows(query).write(searches, page));
    expect(await hasRowsOf(query, rows)).toBe(true);
  });
  await session.close();
  connection.close();
});
