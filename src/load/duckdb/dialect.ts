/** The SQL of DuckDB where it differs from that of other databases. */
import { quoteName, quoteText } from '../../sql-text.js';
import type { CopyTarget, SqlDialect, Statement } from '../database.js';
import { RUN_COLUMN } from '../names.js';

const STAGING = 'foliopipe_staging';

export const duckdbDialect: SqlDialect = {
  staging: `temp.${STAGING}`,
  // The table disappears with the connection, and each load has its own connection.
  createStaging: (columns) => `create temp table ${STAGING} (${columns})`,
  runDefault: null,
  // DuckDB skips blocks without the run by itself, and a column cannot be added to a table with an index.
  hasRunIndex: false,
  systemColumns: new Set(),
};

/** Longest record of a file, in bytes. DuckDB holds a few buffers of this size; its own limit for a record is 2 MB. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/**
 * Inserts the records of a CSV file with exactly the values that COPY gives in Postgres: an empty cell without quotes is
 * null, one with quotes an empty text, and no format or type is guessed.
 */
export function insertText({ table, columns, run }: CopyTarget, path: string): string {
  const names = columns.map(({ name }) => quoteName(name));
  const values = columns.map(({ cast }, at) => (cast === null ? `c${at}` : `cast(c${at} as ${cast})`));
  if (run !== null) {
    names.push(quoteName(RUN_COLUMN));
    values.push(quoteText(run));
  }
  return `insert into ${table} (${names.join(', ')})
select ${values.join(', ')}
  from ${readText(path, columns.length)}`;
}

/** Not in parallel: DuckDB would guess where records begin, and fail if a value holds a line that looks like a record. */
function readText(path: string, columns: number): string {
  const types = Array.from({ length: columns }, (_, at) => `'c${at}': 'VARCHAR'`).join(', ');
  return `read_csv(${quoteText(path)}, auto_detect = false, header = true, columns = {${types}},
    delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, strict_mode = true,
    null_padding = false, ignore_errors = false, parallel = false,
    max_line_size = ${MAX_RECORD_BYTES}, buffer_size = ${MAX_RECORD_BYTES})`;
}

/** Matches texts and names in quotes, which may hold anything, and placeholders. A name without quotes may contain a $. */
const TOKEN = /"(?:[^"]|"")*"|'(?:[^']|'')*'|(?<![\p{L}\p{N}_$])\$(\d+)/gu;

/** Writes the values into a statement: DuckDB and printed scripts take it as one text. */
export function inlined({ text, values = [] }: Statement): string {
  return text.replace(TOKEN, (token, number?: string) =>
    number === undefined ? token : literal(values[Number(number) - 1]),
  );
}

function literal(value: string | number | null | undefined): string {
  if (typeof value === 'string') return quoteText(value);
  return value === null || value === undefined ? 'null' : String(value);
}
