/** Says what an error of a database means for a source that is a query. */
import type { DuckdbError } from '../duckdb/open-duckdb.js';
import { ConfigError, type FoliopipeError, RefusedError, TroubleError } from '../errors.js';
import { readPostgresError } from '../postgres/read-error.js';
import { oneLine, shorten } from '../text.js';

const AGAIN = 'run the same command again: nothing was sent';

/** @param place the database as it may be shown. */
export function translatePostgresError(error: unknown, place: string): unknown {
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
  const { sqlstate, text } = trouble;
  if (/^(?:08|57P)/.test(sqlstate)) return unreachable(place, text);
  const facts = { sqlstate };
  if (sqlstate === '42501') {
    return new RefusedError('SOURCE_DATABASE_DENIED', `${place} refuses the query: ${text}`, {
      hint: 'let the role read what source.query asks for (grant select); then the same command again',
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
  return invalidQuery(place, text, facts);
}

/** @param error of opening the file. */
export function translateDuckdbError(error: DuckdbError, place: string): FoliopipeError {
  if (/does not exist/.test(error.message)) {
    return new ConfigError('SOURCE_DATABASE_MISSING', `${place} does not exist`, {
      hint: 'correct the file in source.query.database: relative paths in a config file are relative to that file',
    });
  }
  const facts = { kind: error.kind };
  if (/lock/.test(error.message)) {
    return new TroubleError('SOURCE_DATABASE_BUSY', `${place} is open in another program`, {
      hint: `close it there, or wait, then ${AGAIN}`,
      facts,
    });
  }
  if (/[Pp]ermission/.test(error.message)) {
    return new RefusedError('SOURCE_DATABASE_DENIED', `${place} cannot be read by this user`, {
      hint: 'let this user read the file and its folder; then the same command again',
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

/** Without the lines that show the statement, which may hold secrets. */
export function firstLine({ message }: DuckdbError): string {
  return shorten(oneLine(message.split(/\nLINE \d+:/)[0]!), 300);
}

export function invalidQuery(
  place: string,
  text: string,
  facts: Readonly<Record<string, string>> = {},
): ConfigError {
  return new ConfigError('SOURCE_QUERY_INVALID', `${place} cannot answer source.query: ${text}`, {
    hint: 'correct source.query.sql: one statement that reads; nothing was sent',
    facts,
  });
}

function unreachable(place: string, text: string): FoliopipeError {
  return new TroubleError(
    'SOURCE_DATABASE_UNREACHABLE',
    `${place} cannot be reached, or the connection was lost (${text})`,
    { hint: `look whether the database is up, then ${AGAIN}` },
  );
}
