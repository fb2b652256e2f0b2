/** The rows of a state in Postgres, to copy them from there, into empty tables, or beside those of other pipelines. */
import type { PostgresSession, Query } from '../../postgres/session.js';
import { listOf, type Prepared, statement, type Value } from '../../postgres/statement.js';
import type { Source } from '../../types.js';
import { type CopiedTable, copiedTables, quoted } from './copied-tables.js';
import type { CopiedRow, NewStateRows, StateRows } from './copy-rows.js';

/** A statement may have 65,535 values. */
const PAGE = 100;

/** Columns of a run that Postgres takes from its source, for its indexes. */
const OF_SOURCE = ['source_sha256', 'record_limit'];

function valuesOfSource(row: CopiedRow, { columns }: CopiedTable): readonly Value[] {
  const { sha256, limit } = JSON.parse(String(row[columns.indexOf('source')])) as Source;
  return [sha256, limit ?? null];
}

/** The tables that hold files. They are copied file by file, not as rows. */
const FILES = ['part_files', 'part_pieces', 'shared_files', 'shared_pieces'];

export function postgresRows(session: PostgresSession): NewStateRows {
  const insertion = createInsertion();
  return {
    read: (table, onPage) => {
      const { name, columns } = table;
      const rows = `SELECT ${quoted(columns)} FROM ${name} ORDER BY ${orderOf(table)}`;
      return session.transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async (query) => {
        await query(statement(`DECLARE copied NO SCROLL CURSOR FOR ${rows}`));
        const next: Prepared<Record<string, CopiedRow[number]>> = statement(`FETCH ${PAGE} FROM copied`);
        for (;;) {
          const page = await query(next);
          if (page.length > 0) await onPage(page.map((row) => columns.map((column) => row[column]!)));
          if (page.length < PAGE) return;
        }
      });
    },
    write: async (table, rows) => {
      for (let at = 0; at < rows.length; at += PAGE) {
        await session.query(...insertion(table, rows.slice(at, at + PAGE)), false);
      }
    },
  };
}

/**
 * Rows that are added to those of other pipelines. They are read again by the values of the first column of their key,
 * which no other row has.
 * @param query runs statements in the transaction in which they are added.
 */
export function addedRows(query: Query): NewStateRows {
  /** By table, in the order in which they were written. */
  const written = new Map<string, Set<Value>>();
  const columnOf = ({ key }: CopiedTable) => key[0]?.name ?? 'id';
  const insertion = createInsertion();
  return {
    read: async (table, onPage) => {
      const { name, columns } = table;
      const column = columnOf(table);
      const rows: Prepared<Record<string, CopiedRow[number]>> = statement(
        `SELECT ${quoted(columns)} FROM ${name} WHERE "${column}" = @value ORDER BY ${orderOf(table)}`,
      );
      for (const value of written.get(name) ?? []) {
        await onPage((await query(rows, { value })).map((row) => columns.map((one) => row[one]!)));
      }
    },
    write: async (table, rows) => {
      const known = written.get(table.name) ?? new Set();
      written.set(table.name, known);
      const at = table.columns.indexOf(columnOf(table));
      for (const row of rows) known.add(row[at]!);
      for (let from = 0; from < rows.length; from += PAGE) {
        const [asked, values] = insertion(table, rows.slice(from, from + PAGE));
        await query(asked, values);
      }
    },
  };
}

/** Which of these pipelines have rows in a state. */
export async function pipelinesThere(query: Query, pipelines: readonly string[]): Promise<readonly string[]> {
  const names = copiedTables()
    .filter(({ columns }) => columns.includes('pipeline'))
    .map(({ name }) => name);
  const all = names.map((name) => `SELECT pipeline FROM ${name}`).join(' UNION ');
  const found: Prepared<{ pipeline: string }> = statement(`SELECT pipeline FROM (${all}) AS rows ORDER BY 1`);
  return (await query(found)).map(({ pipeline }) => pipeline).filter((name) => pipelines.includes(name));
}

/** Whether the rows of a state are in another one. All are added in one transaction, so any run, or search, tells. */
export async function hasRowsOf(query: Query, state: StateRows): Promise<boolean> {
  for (const table of copiedTables().filter(({ columns }) => columns.includes('id'))) {
    const at = table.columns.indexOf('id');
    const ids: string[] = [];
    await state.read(table, async (rows) => {
      for (const row of rows) ids.push(String(row[at]));
    });
    const found = statement(`SELECT FROM ${table.name} WHERE id = ANY(@ids::text[]) LIMIT 1`);
    if ((await query(found, { ids: listOf(ids) })).length > 0) return true;
  }
  return false;
}

/** The pipelines that have rows in a state. */
export async function pipelinesOfRows(state: StateRows): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const table of copiedTables()) {
    const at = table.columns.indexOf('pipeline');
    if (at < 0) continue;
    await state.read(table, async (rows) => {
      for (const row of rows) found.add(String(row[at]));
    });
  }
  return [...found].sort();
}

/** Whether the tables of a state hold anything. */
export async function isEmptyState(session: PostgresSession): Promise<boolean> {
  const found = tables().map((name) => `EXISTS (SELECT FROM ${name})`);
  const any: Prepared<{ any: boolean }> = statement(`SELECT ${found.join(' OR ')} AS any`);
  return !(await session.query(any, {}, true))[0]!.any;
}

/** Removes all rows, and all files that the database holds. */
export async function emptyState(session: PostgresSession): Promise<void> {
  await session.execute(`TRUNCATE ${tables().join(', ')} RESTART IDENTITY`);
}

function tables(): readonly string[] {
  return [...copiedTables().map(({ name }) => name), ...FILES];
}

/** Makes statements that add rows, each once: the server keeps a prepared statement until its connection ends. */
function createInsertion() {
  const known = new Map<string, Prepared<unknown>>();
  return (table: CopiedTable, rows: readonly CopiedRow[]): [Prepared<unknown>, Record<string, Value>] => {
    const isRuns = table.name === 'runs';
    const columns = isRuns ? [...table.columns, ...OF_SOURCE] : table.columns;
    const values: Record<string, Value> = {};
    const lines = rows.map((row, at) => {
      const all = isRuns ? [...row, ...valuesOfSource(row, table)] : row;
      const names = all.map((value, column) => {
        values[`v${at}_${column}`] = value;
        return `@v${at}_${column}`;
      });
      return `(${names.join(', ')})`;
    });
    const text = `INSERT INTO ${table.name} (${quoted(columns)}) VALUES ${lines.join(', ')}`;
    const prepared = known.get(text) ?? statement(text);
    known.set(text, prepared);
    return [prepared, values];
  };
}

/** Key columns of text are in the order of their bytes, as they are in SQLite. */
function orderOf({ key }: CopiedTable): string {
  if (key.length === 0) return 'nth';
  return key.map(({ name, isText }) => `"${name}"${isText ? ' COLLATE "C"' : ''}`).join(', ');
}
