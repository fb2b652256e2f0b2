/** The rows of a state in SQLite, to copy them from there, or into a new checkpoint.db. */
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { syncNow } from '../../make-folder.js';
import { syncFolder } from '../../streams/atomic-file.js';
import { makeJournals } from '../journal/run-journals.js';
import { migrate } from '../sqlite/migrate.js';
import { migrations } from '../sqlite/migrations/index.js';
import { openPrivateDatabase, removeDatabase } from '../sqlite/open-private-database.js';
import { type CopiedTable, quoted } from './copied-tables.js';
import type { CopiedRow, NewStateRows } from './copy-rows.js';

const PAGE = 500;

/** @param connection to a database of this version. */
export function sqliteRows(connection: Database): NewStateRows {
  const orderOf = ({ key }: CopiedTable) =>
    key.length === 0 ? 'rowid' : quoted(key.map(({ name }) => name));
  return {
    read: async (table, onPage) => {
      const { name, columns } = table;
      const all = connection
        .prepare<[], CopiedRow>(`SELECT ${quoted(columns)} FROM ${name} ORDER BY ${orderOf(table)}`)
        .raw();
      let page: CopiedRow[] = [];
      for (const row of all.iterate()) {
        page.push(row);
        if (page.length < PAGE) continue;
        await onPage(page);
        page = [];
      }
      if (page.length > 0) await onPage(page);
    },
    write: async ({ name, columns }, rows) => {
      const insert = connection.prepare(
        `INSERT INTO ${name} (${quoted(columns)}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      connection.transaction(() => {
        for (const row of rows) insert.run(...row);
      })();
    },
  };
}

/** A new checkpoint.db, which gets its name when all rows are in it. */
export interface NewSqliteState {
  readonly rows: NewStateRows;
  /** Writes the journals, and gives the database its name. Durable when the promise has resolved. */
  putInPlace(): Promise<void>;
  /** Removes what is not in place. */
  discard(): void;
}

/** @param stateDir must exist, and hold no state. */
export function openNewSqliteState(stateDir: string): NewSqliteState {
  const path = join(stateDir, 'checkpoint.db');
  const beside = `${path}.copying`;
  removeDatabase(beside);
  const connection = openPrivateDatabase(beside, 0);
  // Until it is in place, a power failure loses nothing.
  connection.pragma('synchronous = OFF');
  migrate(connection, migrations);
  return {
    rows: sqliteRows(connection),
    putInPlace: async () => {
      makeJournals(connection, stateDir);
      connection.close();
      syncNow(beside);
      renameSync(beside, path);
      await syncFolder(dirname(path));
    },
    discard: () => {
      connection.close();
      removeDatabase(beside);
    },
  };
}
