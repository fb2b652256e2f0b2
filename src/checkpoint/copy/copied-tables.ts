/**
 * The tables that are copied between a state in SQLite and one in Postgres: those of checkpoint.db, as its migrations make
 * them. Postgres has the same columns, and a few more that it derives.
 */
import { openSqlite } from '../../sqlite-driver.js';
import { migrate } from '../sqlite/migrate.js';
import { migrations } from '../sqlite/migrations/index.js';

export interface CopiedTable {
  readonly name: string;
  /** Without those that a database derives from others. */
  readonly columns: readonly string[];
  /** The columns of its key, by which its rows are ordered; none: the order of insertion. */
  readonly key: readonly { readonly name: string; readonly isText: boolean }[];
}

let known: readonly CopiedTable[] | undefined;

/** In an order in which rows refer to earlier ones: that in which the tables were made. */
export function copiedTables(): readonly CopiedTable[] {
  known ??= readTables();
  return known;
}

function readTables(): readonly CopiedTable[] {
  const empty = openSqlite(':memory:');
  migrate(empty, migrations);
  const names = empty
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    .pluck()
    .all();
  const tables = names.map((name) => {
    const columns = empty.pragma(`table_info(${name})`) as { name: string; type: string; pk: number }[];
    const key = columns
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map((column) => ({ name: column.name, isText: column.type === 'TEXT' }));
    // The order of runs is that in which they began.
    return { name, columns: columns.map((column) => column.name), key: name === 'runs' ? [] : key };
  });
  empty.close();
  return tables;
}

/** Names of columns are quoted, because some are words of SQL. */
export function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
