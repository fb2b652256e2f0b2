/** Writes a CSV of foliopipe as a Parquet file, in a DuckDB process. Nothing is guessed from the data. */
import { ConfigError, TroubleError, UntrustedError } from '../errors.js';
import type { ColumnType, ColumnTypes } from '../output-format.js';
import { quoteName, quoteText } from '../sql-text.js';
import { showText } from '../text.js';
import { DuckdbError, type DuckdbSession, openDuckdb } from './open-duckdb.js';

export const PARQUET_NEED = 'an output that ends in .parquet';

/** Rows in a group, which a reader can skip or read by itself. */
const GROUP_ROWS = 100_000;
/** The longest line in bytes: DuckDB's own value, which is enough for most files. */
const USUAL_LINE = 2_000_000;
/** DuckDB keeps 16 lines of the longest length in memory, so more is not allowed. */
const LONGEST_LINE = 30_000_000;

/**
 * The ways to read the CSV, tried one after the other. In parallel, DuckDB guesses where records begin. It fails if a
 * guess differs from the end of the record before: a value may hold lines that look like records. It does not compare
 * them if a record is longer than a thread's share of the file, so the higher limit is used with one thread only.
 */
const WAYS: readonly Reading[] = [
  { parallel: true, lineBytes: USUAL_LINE },
  { parallel: false, lineBytes: USUAL_LINE },
  { parallel: false, lineBytes: LONGEST_LINE },
];

interface Reading {
  readonly parallel: boolean;
  readonly lineBytes: number;
}

const MAX_SHOWN = 60;

export interface ParquetTable {
  /** A comma CSV in UTF-8 with LF and a header. */
  readonly csv: string;
  /** An empty file, which keeps its permissions. */
  readonly parquet: string;
  readonly columns: readonly string[];
  /** Types of some columns; the others are strings. */
  readonly types: ColumnTypes;
  /** Rows without the header. */
  readonly records: number;
  readonly tempFolder: string;
  readonly signal: AbortSignal;
}

/**
 * An empty unquoted field is null. An empty quoted one is an empty string, or null in a column with a type.
 * @throws ConfigError `DUCKDB_MISSING`; `OUTPUT_TYPE_MISMATCH` when a value does not fit its type; `OUTPUT_ROW_TOO_LONG`;
 *   UntrustedError `OUTPUT_ROWS_DIFFER`; TroubleError `PARQUET_NOT_WRITTEN`, `DUCKDB_ENDED`; the signal's reason.
 */
export async function writeParquet(table: ParquetTable): Promise<void> {
  const { tempFolder, signal, records } = table;
  const session = await openDuckdb(PARQUET_NEED, { database: ':memory:', tempFolder, signal });
  try {
    const written = await copyRows(session, table);
    if (written === records) return;
    throw new UntrustedError(
      'OUTPUT_ROWS_DIFFER',
      `DuckDB has written ${written} rows, and the output has ${records}: nothing was published`,
      {
        hint: 'please report it; output.path with the ending .csv.gz needs no DuckDB',
        facts: { written, records },
      },
    );
  } finally {
    await session.close();
  }
}

/** @returns the number of rows written. */
async function copyRows(session: DuckdbSession, table: ParquetTable): Promise<number> {
  for (const reading of WAYS) {
    try {
      const [copied] = await session.rows<{ Count: string }>(copyStatement(table, reading));
      const written = Number(copied!.Count);
      if (written === table.records || !reading.parallel) return written;
    } catch (error) {
      if (!(error instanceof DuckdbError)) throw error;
      if (reading.parallel || /maximum line size/i.test(error.message)) continue;
      throw (await findMismatch(session, table, reading)) ?? notWritten(error, table);
    }
  }
  throw new ConfigError(
    'OUTPUT_ROW_TOO_LONG',
    `a row of the output is longer than the ${LONGEST_LINE} bytes that can be written to Parquet`,
    {
      hint: 'let output.path end in .csv.gz, with foliopipe publish RUN --output FILE; nothing is paid again',
    },
  );
}

function copyStatement({ columns, types, parquet, csv }: ParquetTable, reading: Reading): string {
  const selected = columns.map((name, at) => {
    const type = typeOf(types, name);
    return `${type === undefined ? field(at) : typedValue(at, type)} AS ${quoteName(name)}`;
  });
  return `COPY (SELECT ${selected.join(', ')} FROM ${readCsv(csv, columns.length, reading)})
    TO ${quoteText(parquet)}
    (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${GROUP_ROWS}, USE_TMP_FILE false)`;
}

/** The fields get names of their own, because the header may hold any name. */
function field(at: number): string {
  return `f${at}`;
}

function readCsv(path: string, fields: number, { parallel, lineBytes }: Reading): string {
  const names = Array.from({ length: fields }, (_, at) => `'${field(at)}': 'VARCHAR'`);
  return `read_csv(${quoteText(path)}, auto_detect = false, header = true, columns = {${names.join(', ')}},
    delim = ',', quote = '"', escape = '"', new_line = '\\n', compression = 'none', encoding = 'utf-8',
    all_varchar = true, nullstr = '', allow_quoted_nulls = false, null_padding = false,
    parallel = ${parallel}, max_line_size = ${lineBytes})`;
}

function typeOf(types: ParquetTable['types'], name: string): ColumnType | undefined {
  return Object.hasOwn(types, name) ? types[name] : undefined;
}

/** The form of a type's values. Without this check, DuckDB would round numbers, and drop times and time zones. */
function patternOf(type: ColumnType): string {
  const day = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
  const [, scale] = /,(\d+)\)$/.exec(type) ?? [];
  if (scale !== undefined) return `[+-]?[0-9]+(\\.[0-9]{0,${scale}}0*)?`;
  const patterns: Readonly<Record<string, string>> = {
    integer: '[+-]?[0-9]+',
    bigint: '[+-]?[0-9]+',
    double: '[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?',
    boolean: '(?i:true|false|t|f|yes|no|y|n|1|0)',
    date: day,
    timestamp: `${day}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,6}0*)?)?(Z|\\+00:00)?)?`,
  };
  return patterns[type]!;
}

function fits(at: number, type: ColumnType): string {
  const cast = `TRY_CAST(${field(at)} AS ${type})`;
  const isInRange = type === 'double' ? `isfinite(${cast})` : `${cast} IS NOT NULL`;
  return `(regexp_full_match(${field(at)}, ${quoteText(patternOf(type))}) AND coalesce(${isInRange}, false))`;
}

function isEmpty(at: number): string {
  return `(${field(at)} IS NULL OR ${field(at)} = '')`;
}

function typedValue(at: number, type: ColumnType): string {
  return `CASE WHEN ${isEmpty(at)} THEN NULL WHEN ${fits(at, type)} THEN CAST(${field(at)} AS ${type})
    ELSE error('no ${type}') END`;
}

function notWritten(error: DuckdbError, { parquet }: ParquetTable): Error {
  // Sets the code of the system, so that a full disk is reported as it is elsewhere.
  if (error.message.includes('No space left on device')) {
    return Object.assign(new Error(error.message, { cause: error }), { code: 'ENOSPC', path: parquet });
  }
  const said = showText(error.message.split('\n', 1)[0]!, 200);
  return new TroubleError('PARQUET_NOT_WRITTEN', `DuckDB could not write the output as Parquet: ${said}`, {
    hint: 'run the same command again; if it happens each time, foliopipe publish RUN --output FILE.csv.gz writes it without DuckDB, and nothing is paid again',
    cause: error,
  });
}

interface Mismatch {
  readonly column: string;
  readonly type: ColumnType;
  /** The first row with such a value, from 1. */
  readonly row: number;
  readonly value: string;
  /** How many values of the column do not fit. */
  readonly values: number;
}

/** The error for values that do not fit; undefined if all do, or if they cannot be read. */
async function findMismatch(
  session: DuckdbSession,
  { columns, types, csv }: ParquetTable,
  reading: Reading,
): Promise<ConfigError | undefined> {
  const typed = columns.flatMap((column, at) => {
    const type = typeOf(types, column);
    return type === undefined ? [] : [{ column, at, type }];
  });
  if (typed.length === 0) return undefined;
  const sums = typed.map(({ at, type }) => {
    const wrong = `FILTER (WHERE NOT ${isEmpty(at)} AND NOT ${fits(at, type)})`;
    const value = `left(${field(at)}, ${2 * MAX_SHOWN})`;
    return `min(row_number) ${wrong} AS row${at}, count(*) ${wrong} AS values${at}, arg_min(${value}, row_number) ${wrong} AS value${at}`;
  });
  const rows = `(SELECT row_number() OVER () AS row_number, * FROM ${readCsv(csv, columns.length, reading)})`;
  const [found] = await session
    .rows<Record<string, string>>(`SELECT ${sums.join(', ')} FROM ${rows}`)
    .catch(() => []);
  const mismatches = typed.flatMap(({ column, at, type }): Mismatch[] => {
    const values = Number(found?.[`values${at}`] ?? 0);
    if (values === 0) return [];
    return [{ column, type, row: Number(found![`row${at}`]), value: found![`value${at}`]!, values }];
  });
  return mismatches.length === 0 ? undefined : mismatchError(mismatches);
}

function mismatchError(found: readonly Mismatch[]): ConfigError {
  const [first] = found;
  const lines = found.map(
    ({ column, type, row, value, values }) =>
      `\n  ${showText(column)} is ${type}: ${showText(value, MAX_SHOWN)} in row ${row}${values === 1 ? '' : ` and ${values - 1} more`}`,
  );
  return new ConfigError(
    'OUTPUT_TYPE_MISMATCH',
    `values of the output do not fit output.types:${lines.join('')}`,
    {
      hint: 'give these columns other types in output.types or leave them out, then run the same command again: nothing is paid again',
      facts: { ...first!, value: showText(first!.value, MAX_SHOWN), columns: found.length },
    },
  );
}
