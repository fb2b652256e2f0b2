/** Names in Postgres: how a column of the output is called in the table, and how names are written in statements. */
import { ConfigError } from '../../errors.js';
import { showText } from '../../text.js';
import type { LoadColumn, LoadTable } from '../load-target.js';

/** Postgres cuts longer names off. */
const MAX_NAME_BYTES = 63;

/** The column that names the run of a row, in mode `append`. */
export const RUN_COLUMN = 'foliopipe_run';

/** Columns that every table has. */
const SYSTEM_COLUMNS: ReadonlySet<string> = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/** The name in quotes, so that it can hold any text and is never taken for SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in quotes; backslashes in it are no escapes. */
export function quoteText(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return doubled.includes('\\') ? ` E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`;
}

/**
 * The name that Postgres gives a column whose name stands in SQL without quotes: capital letters of ASCII become small
 * ones, and what is longer than 63 bytes is cut off behind a whole character.
 */
export function foldName(name: string): string {
  return cut(name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
}

/** The name, cut to the bytes that a name may have. */
export function cut(name: string): string {
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
 * @throws ConfigError `LOAD_NAMES`, for two columns that Postgres would give the same name, and for names that no column
 *   can have.
 */
export function checkNames({ columns, mode }: Pick<LoadTable, 'columns' | 'mode'>): void {
  const known = new Map<string, string>();
  if (mode === 'append') known.set(RUN_COLUMN, `${RUN_COLUMN}, which names the run of a row`);
  for (const { name } of columns) {
    const folded = foldName(name);
    const other = known.get(folded);
    if (folded.trim() === '') throw namesError('a column without a name cannot be loaded', columns);
    if (SYSTEM_COLUMNS.has(folded)) {
      throw namesError(`${showText(name)} is the name of a column that every table of Postgres has`, columns);
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
