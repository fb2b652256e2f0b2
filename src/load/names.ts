/**
 * Names of columns and tables: what a column of the output is called in the table, and how `load.table` is read. All
 * databases follow Postgres, which is the strictest, so that a table is the same everywhere.
 */
import { ConfigError } from '../errors.js';
import { quoteName } from '../sql-text.js';
import { showText } from '../text.js';
import type { LoadColumn, LoadTable } from './load-target.js';

/** Postgres cuts longer names off. */
const MAX_NAME_BYTES = 63;

/** The column that names the run of a row, in mode `append`. */
export const RUN_COLUMN = 'foliopipe_run';

/** The table, beside the one that is loaded, in which loads are recorded. */
export const LOADS_TABLE = 'foliopipe_loads';

/** `load.table` as SQL reads a name: small letters unless it is in quotes. */
interface ParsedName {
  /** Null if the name has none. */
  readonly schema: string | null;
  readonly name: string;
}

/** @throws ConfigError `LOAD_TABLE_NAME`. */
export function parseTableName(table: string): ParsedName {
  const [name, schema = null, ...more] = namesIn(table).reverse();
  if (more.length > 0) throw noNameError(table);
  if (name!.toLowerCase() === LOADS_TABLE) {
    throw tableNameError(table, 'is the table in which foliopipe records its loads; name another one');
  }
  return { schema, name: name! };
}

/** The names between the dots of `load.table`. @throws ConfigError `LOAD_TABLE_NAME`. */
export function namesIn(table: string): string[] {
  if (!TABLE_NAME.test(table)) throw noNameError(table);
  return table
    .match(PART)!
    .map((part) => (part.startsWith('"') ? cut(part.slice(1, -1).replaceAll('""', '"')) : foldName(part)));
}

const PART = /"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu;
const TABLE_NAME = new RegExp(`^(?:${PART.source})(?:\\.(?:${PART.source}))*$`, 'u');

function noNameError(table: string): ConfigError {
  return tableNameError(table, 'is not the name of a table');
}

/** @param problem why `table` is not the name of a table for a load. */
export function tableNameError(table: string, problem: string): ConfigError {
  return new ConfigError('LOAD_TABLE_NAME', `load.table: ${showText(table)} ${problem}`, {
    hint: 'write it as in SQL, such as analytics.businesses; other characters than letters, digits and _ need double quotes',
    facts: { table },
  });
}

/** For a missing schema: with `onSchema: add`, foliopipe creates tables but no schemas. */
export function schemaMissingError(table: string, schema: string): ConfigError {
  return new ConfigError(
    'LOAD_SCHEMA_MISSING',
    `load.table: ${showText(table, 130)} names the schema ${showText(schema, 63)}, which does not exist`,
    {
      hint: `create it in the database: create schema ${quoteName(schema)}; or name another one in load.table; then run the same command again`,
      facts: { table, schema },
    },
  );
}

/** For a view or another object that is not a table. */
export function notTableError({
  schema,
  name,
}: {
  readonly schema: string;
  readonly name: string;
}): ConfigError {
  return new ConfigError('LOAD_NOT_A_TABLE', `${showText(`${schema}.${name}`, 130)} is not a table`, {
    hint: 'name a table in load.table; a view can be built on it',
  });
}

/**
 * The name that Postgres gives a column whose name is written without quotes: capital ASCII letters become small ones,
 * and a name of more than 63 bytes is cut after a whole character.
 */
export function foldName(name: string): string {
  return cut(name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
}

/** The name, cut to the bytes that a name may have. */
function cut(name: string): string {
  let length = 0;
  let end = 0;
  for (const character of name) {
    length += Buffer.byteLength(character);
    if (length > MAX_NAME_BYTES) return name.slice(0, end);
    end += character.length;
  }
  return name;
}

/**
 * Checks that each column gets a name of its own.
 * @throws ConfigError `LOAD_NAMES`, for two columns that would get the same name, and for names that no column
 *   can have.
 */
export function checkNames(
  { columns, mode }: Pick<LoadTable, 'columns' | 'mode'>,
  systemColumns: ReadonlySet<string>,
): void {
  const known = new Map<string, string>();
  if (mode === 'append') known.set(RUN_COLUMN, `${RUN_COLUMN}, which names the run of a row`);
  for (const { name } of columns) {
    const folded = foldName(name);
    const other = known.get(folded);
    if (folded.trim() === '') throw namesError('a column without a name cannot be loaded', columns);
    if (systemColumns.has(folded)) {
      throw namesError(
        `${showText(name)} is the name of a column that every table of the database has`,
        columns,
      );
    }
    if (other !== undefined) {
      throw namesError(
        `${showText(name)} and ${other} would be the same column ${showText(folded, 63)}`,
        columns,
      );
    }
    known.set(folded, showText(name));
  }
}

function namesError(problem: string, columns: readonly LoadColumn[]): ConfigError {
  return new ConfigError('LOAD_NAMES', `load: ${problem}`, {
    hint: 'rename the column in the source (source.header: rename numbers doubled and empty names), leave it out with output.columns, or change output.prefix',
    facts: { columns: columns.length },
  });
}
