/** Rows that are copied into a state in Postgres, however many. */
import { expect, it } from 'vitest';
import { copiedTables } from '../../../src/checkpoint/copy/copied-tables.js';
import { postgresRows } from '../../../src/checkpoint/copy/postgres-rows.js';
import { type Prepared, statement } from '../../../src/postgres/statement.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { openStateConnection, useStateDatabase } from '../../helpers/postgres/postgres-state.js';

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
