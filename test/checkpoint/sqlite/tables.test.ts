/** A new file has the tables of one that was migrated from the first version on. */
import { readFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrate, schemaVersion } from '../../../src/checkpoint/sqlite/migrate.js';
import { migrations } from '../../../src/checkpoint/sqlite/migrations/index.js';
import { tables } from '../../../src/checkpoint/sqlite/migrations/tables.js';
import { openSqlite } from '../../../src/sqlite-driver.js';

const file = new URL('../../../src/checkpoint/sqlite/migrations/tables.ts', import.meta.url).pathname;

let migrated: Database;
let made: Database;
beforeEach(() => {
  [migrated, made] = [openSqlite(':memory:'), openSqlite(':memory:')];
  migrate(migrated, migrations);
});
afterEach(() => {
  migrated.close();
  made.close();
});

/** Each table and index, in the order in which they were made. */
function schemaOf(database: Database): unknown[] {
  return database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid').all();
}

it('the file with the tables is what the migrations make', async () => {
  const sql = migrated
    .prepare<[], string>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid')
    .pluck()
    .all();
  const [head] = readFileSync(file, 'utf8').split('`\n', 1);
  await expect(`${head}\`\n${sql.join(';\n')};\n\`;\n`).toMatchFileSnapshot(file);
});

it('a new file gets the same tables and version, and no rows', () => {
  migrate(made, migrations, { tables });
  expect(schemaOf(made)).toEqual(schemaOf(migrated));
  expect(schemaVersion(made)).toBe(migrations.length);
  const names = made.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) {
    const rows = (database: Database) => database.prepare(`SELECT * FROM ${name}`).raw().all();
    expect(rows(made), name).toEqual(rows(migrated));
  }
});

it('an older file gets only the migrations that it lacks', () => {
  migrate(made, migrations.slice(0, 1));
  migrate(made, migrations, { tables });
  expect(schemaOf(made)).toEqual(schemaOf(migrated));
});
