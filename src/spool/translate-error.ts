/** Says what an error of a database means for a source that is a query. */
import type { DuckdbError } from '../duckdb/open-duckdb.js';
import { ConfigError, type FoliopipeError, RefusedError, TroubleError } from '../errors.js';
import { databaseCheck, lostText, readPostgresError } from '../postgres/read-error.js';
import { oneLine, shorten, showText } from '../text.js';

const AGAIN = 'run the same command again: nothing was sent';

/**
 * @param place the database as it may be shown.
 * @param lineOf gives the line of the query for a character of the statement; undefined after its end.
 */
export function translatePostgresError(
  error: unknown,
  place: string,
  lineOf: (position: number) => number | undefined,
): unknown {
  const trouble = readPostgresError(error);
  if (trouble === undefined) return error;
  if (trouble.kind === 'lost') return unreachable(place, trouble.text);
  if (trouble.kind === 'refused') {
    return new RefusedError(
      'SOURCE_DATABASE_REFUSED',
      `${place} does not accept the user or the password of source.query.database`,
      { hint: 'correct source.query.database, or let the server accept this user from this machine' },
    );
  }
  const { sqlstate, text, advice, position } = trouble;
  if (/^(?:08|57P)/.test(sqlstate)) return unreachable(place, text);
  const facts = { sqlstate };
  if (sqlstate === '42501') {
    return new RefusedError('SOURCE_DATABASE_DENIED', `${place} refuses the query: ${text}`, {
      hint: 'let the role read what source.query asks for (grant select); then run the same command again',
      facts,
    });
  }
  if (sqlstate === '3D000') {
    return new ConfigError('SOURCE_DATABASE_MISSING', `${place} does not exist`, {
      hint: 'correct the database in source.query.database',
      facts,
    });
  }
  if (/^(?:40|53|55|57|58)/.test(sqlstate)) {
    return new TroubleError('SOURCE_DATABASE_BUSY', `${place} could not answer source.query now: ${text}`, {
      hint: AGAIN,
      facts,
    });
  }
  const line = position === null ? null : lineOf(position);
  const where = line === undefined ? ', which ends too early' : line === null ? '' : ` in line ${line}`;
  return invalidQuery(place, text, { facts, where, advice });
}

/** @returns undefined if there was memory and disk enough. @param place the database or the file that was read. */
export function noRoomForDuckdb(error: DuckdbError, place: string): TroubleError | undefined {
  if (!/^Out of Memory|failed to allocate|max_temp_directory_size/i.test(error.message)) return undefined;
  return new TroubleError('DUCKDB_NO_ROOM', `${place} cannot be read now: ${firstLine(error)}`, {
    hint: `make room in memory and on the disk of stateDir, then ${AGAIN}`,
    facts: { kind: error.kind },
  });
}

/** @returns undefined if neither the file nor the machine is the cause. */
export function troubleOfDuckdb(error: DuckdbError, place: string): FoliopipeError | undefined {
  const { message, kind } = error;
  const facts = { kind };
  if (/Could not read enough bytes|Corrupt database|checksum/i.test(message)) {
    return new ConfigError('SOURCE_DATABASE_DAMAGED', `${place} is damaged or cut off: ${firstLine(error)}`, {
      hint: 'restore the file from a copy, or write it again; then run the same command again: nothing was sent',
      facts,
    });
  }
  return noRoomForDuckdb(error, place);
}

/** @param error of opening the file. */
export function translateDuckdbError(error: DuckdbError, place: string): FoliopipeError {
  const trouble = troubleOfDuckdb(error, place);
  if (trouble !== undefined) return trouble;
  if (/does not exist/.test(error.message)) {
    return new ConfigError('SOURCE_DATABASE_MISSING', `${place} does not exist`, {
      hint: 'correct the file in source.query.database: relative paths in a config file are relative to that file',
    });
  }
  const facts = { kind: error.kind };
  if (error.isHeld) {
    return new TroubleError('SOURCE_DATABASE_BUSY', `${place} is open in another program`, {
      hint: `close it there, or wait, then ${AGAIN}`,
      facts,
    });
  }
  if (/Permission denied|Access is denied/i.test(error.message)) {
    return new RefusedError('SOURCE_DATABASE_DENIED', `${place} cannot be read by this user`, {
      hint: 'let this user read the file and its folder; then run the same command again',
      facts,
    });
  }
  // DuckDB says this of a file of another format, such as a CSV, that it would read in a database in memory.
  const isOther = /in-memory database|not a valid DuckDB/.test(error.message);
  const what = isOther ? 'is not a DuckDB database' : `cannot be opened: ${firstLine(error)}`;
  return new ConfigError('SOURCE_DATABASE_MISSING', `${place} ${what}`, {
    hint: `name a DuckDB file in source.query.database${isOther ? '; a CSV or Parquet file is named in source.path' : '; a file of a newer DuckDB needs a newer @duckdb/node-api'}`,
    facts,
  });
}

/** Without the lines that show the statement, which may hold secrets, and the part of DuckDB that says it. */
export function firstLine({ message }: DuckdbError): string {
  const [text = ''] = message.split(/\nLINE \d+:/);
  return shorten(oneLine(text.replace(/^(?:Binder|Catalog|Parser) Error: /, '')), 300);
}

interface QueryDetails {
  readonly facts?: Readonly<Record<string, string>>;
  /** Where in the query, as it is put after a name of it; empty if that is not known. */
  readonly where?: string;
  /** What the database proposes. */
  readonly advice?: string | null;
}

/** @param text what the database says, as one line. */
export function invalidQuery(
  place: string,
  text: string,
  { facts = {}, where = '', advice = null }: QueryDetails = {},
): ConfigError {
  const proposed = advice === null ? '' : `; the database says: ${advice.replace(/[.?!]$/, '')}`;
  return new ConfigError('SOURCE_QUERY_INVALID', `${place} cannot answer source.query: ${text}`, {
    hint: `correct ${wrongPart(text, where)}${proposed}; nothing was sent`,
    facts,
  });
}

/**
 * Recognizes the English messages of Postgres and DuckDB. A server with messages in another language gets the general
 * hint.
 */
function wrongPart(text: string, where: string): string {
  const column = /\bcolumn "?([^" ]+)"? (?:does not exist|not found)/.exec(text)?.[1];
  if (column !== undefined) return `the column ${showText(column)} in source.query.sql${where}`;
  const table = /(?:\brelation|Table with name) "?([^" ]+)"? does not exist/.exec(text)?.[1];
  if (table !== undefined) {
    return `the table ${showText(table)} in source.query.sql${where}: with its schema, if it is not in the default one; or name the database that has it in source.query.database`;
  }
  return `source.query.sql${where}: one statement that reads`;
}

function unreachable(place: string, text: string): FoliopipeError {
  return new TroubleError('SOURCE_DATABASE_UNREACHABLE', `${place} ${lostText(text, place)}`, {
    hint: `${databaseCheck(text, 'source.query.database')}, then ${AGAIN}`,
  });
}
