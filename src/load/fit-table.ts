/** Compares the columns of the output with those of the table, and finds those that the table lacks. Pure. */
import { ConfigError } from '../errors.js';
import { showNames, showText } from '../text.js';
import type { FoundTable, TableColumn } from './database.js';
import { looseKeyError } from './load-errors.js';
import type { ColumnRole, LoadTable } from './load-target.js';
import { foldName, RUN_COLUMN } from './names.js';

/** A column of the output and the column of the table that takes it. */
export interface FittedColumn {
  readonly role: ColumnRole;
  /** Its name in the table. */
  readonly name: string;
  /** Its column in the staging table. */
  readonly staged: string;
  /** The type to which its text is cast; null if it is stored as it is. */
  readonly cast: string | null;
  /** Whether the table may treat two values as equal although their texts differ. */
  readonly mayAlias: boolean;
}

export interface FittedTable {
  readonly columns: readonly FittedColumn[];
  /** The names of the columns that must be added first, in mode `append` also that of the run. */
  readonly missing: readonly string[];
}

/**
 * @param found undefined if there is no table.
 * @param lastColumns the columns of the pipeline's last load, by their names in the table; undefined before the first
 *   one.
 * @throws ConfigError `LOAD_DRIFT` with every difference, under `onSchema: fail` and where `add` does not help;
 *   `LOAD_TABLE_MISSING`; `LOAD_KEY_NOT_UNIQUE`; `LOAD_KEY_UNFIT`.
 */
export function fitTable(
  load: LoadTable,
  found: FoundTable | undefined,
  lastColumns: readonly string[] | undefined,
): FittedTable {
  if (found === undefined && load.onSchema === 'fail') {
    throw new ConfigError(
      'LOAD_TABLE_MISSING',
      `load.table: there is no table ${showText(load.table, 130)}`,
      {
        hint: 'set load.onSchema: add to let foliopipe create it; or create it: foliopipe load --print postgres (or duckdb) shows the statement',
        facts: { table: load.table },
      },
    );
  }
  const known = new Map(found?.columns.map((column) => [column.name, column]));
  const nameIn = (name: string) => (known.has(name) ? name : foldName(name));
  const columns = load.columns.map(({ name, role }, at) => {
    const inTable = nameIn(name);
    const column = known.get(inTable);
    // A row is not updated if only its lineage differs. But a column that is added now must be filled in every row, so it
    // counts as an answer.
    const isNew = found !== undefined && column === undefined;
    return {
      role: isNew && role === 'lineage' ? 'answer' : role,
      name: inTable,
      staged: `c${at}`,
      cast: column && !column.isText ? column.type : null,
      mayAlias: column !== undefined && column.equality !== 'text',
    };
  });
  const names = [...columns.map(({ name }) => name), ...(load.mode === 'append' ? [RUN_COLUMN] : [])];
  const missing = names.filter((name) => !known.has(name));
  if (found !== undefined) {
    checkDrift(
      load,
      found,
      { columns, missing },
      (lastColumns ?? []).filter((name) => known.has(name) && !names.includes(name)),
    );
    if (load.mode === 'merge') checkKey(load, found, columns);
  }
  return { columns, missing };
}

function checkDrift(
  { table, onSchema }: LoadTable,
  found: FoundTable,
  { columns, missing }: FittedTable,
  gone: readonly string[],
): void {
  const problems: string[] = [];
  if (onSchema === 'fail') {
    if (missing.length > 0) problems.push(`it lacks ${showNames(missing, 63)}`);
    if (gone.length > 0)
      problems.push(`${showNames(gone, 63)} came with the last load, but is not in the output now`);
  } else if (missing.length > 0 && !found.isOwner) {
    problems.push(`it lacks ${showNames(missing, 63)}, which only its owner can add`);
  }
  const roles = new Map(columns.map(({ name, role }) => [name, role]));
  const own = (test: (column: TableColumn, role: ColumnRole | undefined) => boolean) =>
    found.columns.filter((column) => test(column, roles.get(column.name))).map(({ name }) => name);
  const required = own(
    ({ name, isRequired }, role) => isRequired && role === undefined && name !== RUN_COLUMN,
  );
  if (required.length > 0)
    problems.push(`${showNames(required, 63)} must have a value (NOT NULL), and nothing gives it one`);
  const strict = own(
    ({ mayBeNull }, role) => !mayBeNull && (role === 'reason' || role === 'answer' || role === 'lineage'),
  );
  if (strict.length > 0)
    problems.push(`${showNames(strict, 63)} must have a value (NOT NULL), and not every row has one`);
  const generated = own(({ isGenerated }, role) => isGenerated && role !== undefined);
  if (generated.length > 0)
    problems.push(`only the database can give ${showNames(generated, 63)} its values`);
  if (problems.length === 0) return;
  throw new ConfigError(
    'LOAD_DRIFT',
    `load.table: ${showText(table, 130)} and the output do not fit: ${problems.join('; ')}`,
    {
      hint:
        onSchema === 'fail'
          ? 'change the table, or set load.onSchema: add, which adds columns that it lacks and leaves old ones; then run the same command again'
          : 'change the table; then run the same command again',
      facts: { table, missing: missing.length, gone: gone.length },
    },
  );
}

/** The columns of the key, in the order of the output. */
export function keyColumns(columns: readonly FittedColumn[]): readonly FittedColumn[] {
  return columns.filter(({ role }) => role === 'key');
}

/** A unique index makes the database itself refuse a second row of a key. */
function checkKey({ table }: LoadTable, found: FoundTable, columns: readonly FittedColumn[]): void {
  const key = keyColumns(columns).map(({ name }) => name);
  const loose = found.columns.find(({ name, equality }) => equality === 'loose' && key.includes(name));
  if (loose !== undefined) throw looseKeyError(table, loose.name);
  const sorted = JSON.stringify([...key].sort());
  if (found.uniqueKeys.some((unique) => JSON.stringify(unique) === sorted)) return;
  throw new ConfigError(
    'LOAD_KEY_NOT_UNIQUE',
    `load.mode: merge needs a primary key or a unique index over exactly ${showNames(key, 63)}, and ${showText(table, 130)} has none`,
    {
      hint: 'foliopipe load --print postgres (or duckdb) shows the statement that creates it',
      facts: { table },
    },
  );
}
