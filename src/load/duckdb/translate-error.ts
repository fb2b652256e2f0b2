/** Translates errors of DuckDB into those of a load, by the kind of the message. */
import { DuckdbError } from '../../duckdb/open-duckdb.js';
import { ConfigError, type ErrorDetails, type FoliopipeError, TroubleError } from '../../errors.js';
import { oneLine, shorten } from '../../text.js';
import {
  AGAIN,
  loadBusy,
  loadDenied,
  loadFailed,
  loadUnreadable,
  type Translate,
  tableUnfit,
  valueUnfit,
} from '../load-errors.js';
import { MAX_RECORD_BYTES } from './dialect.js';

/** The first pattern that matches decides. The first three messages may show values, which may contain any other text. */
const byText: readonly (readonly [RegExp, Translate])[] = [
  [/^(?:Constraint|Conversion|Out of Range) /, valueUnfit],
  [/^Invalid Input Error: CSV .*Maximum line size/s, tooLong],
  [/^Invalid Input Error: CSV /, unreadable],
  [/Permission denied|read-only|not permitted|Access is denied/i, denied],
  [/No such file or directory|Not a directory/, missing],
  [/not a valid DuckDB database|version number|newer version|Serialization|Is a directory/i, invalid],
  [/Could not read enough bytes|Corrupt database|checksum/i, damaged],
  [/No space left|Out of Memory|failed to allocate|max_temp_directory_size/i, full],
  [/CSV Error|CSV File/, unreadable],
  [/^Invalid Input /, valueUnfit],
  [/^(?:Binder|Catalog|Parser|Syntax|Not implemented|Dependency|Permission) /, cannot],
  [/^(?:TransactionContext|IO|Fatal|Interrupt) /, full],
];

/** @param place the database as it may be shown. */
export function translateError(error: unknown, place: string): unknown {
  if (!(error instanceof DuckdbError)) return error;
  const { message, kind } = error;
  // DuckDB shows the statement after an empty line.
  const text = shorten(oneLine(message.split('\n\n')[0]!), 300);
  const [, known = failed] = byText.find(([pattern]) => pattern.test(message)) ?? [];
  const translate = error.isHeld ? locked : known;
  return translate(text, place, { facts: { kind } });
}

function locked(text: string, place: string, { facts }: ErrorDetails): FoliopipeError {
  const [, program, pid] = /held in (.*?) \(PID (\d+)\)/.exec(text) ?? [];
  const holder = pid === undefined ? 'another process' : `${program} (process ${pid})`;
  return new TroubleError(
    'LOAD_BUSY',
    `${place} is open in ${holder}, and DuckDB lets only one process at a time write to it`,
    {
      facts: { ...facts, pid: pid === undefined ? null : Number(pid) },
      hint: `end that process or close the database in it, then ${AGAIN}`,
    },
  );
}

function denied(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return loadDenied(
    text,
    place,
    details,
    `let this user read and write the file and its folder, then ${AGAIN}`,
  );
}

function missing(_: string, place: string, details: ErrorDetails): FoliopipeError {
  return new ConfigError('LOAD_DATABASE_MISSING', `the folder of ${place} does not exist`, {
    ...details,
    hint: 'correct load.into, or create the folder; foliopipe creates the file',
  });
}

function invalid(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return new ConfigError('LOAD_DATABASE_INVALID', `${place} cannot be opened as a database: ${text}`, {
    ...details,
    hint: 'correct load.into; an empty file is no database: delete it; for a file of a newer DuckDB: npm install @duckdb/node-api@latest',
  });
}

function damaged(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return new ConfigError('LOAD_DATABASE_INVALID', `${place} is damaged or cut off: ${text}`, {
    ...details,
    hint: `restore the file from a copy, or move it away to begin a new one (load.onSchema: add), then ${AGAIN}`,
  });
}

function full(text: string, place: string, details: ErrorDetails): FoliopipeError {
  const hint = `nothing was loaded; make room on its disk and in memory, then ${AGAIN}`;
  return loadBusy(text, place, details, hint);
}

function tooLong(_: string, place: string, details: ErrorDetails): FoliopipeError {
  return new ConfigError(
    'LOAD_VALUE_UNFIT',
    `${place}: a row of the output is longer than the ${MAX_RECORD_BYTES} bytes that a load into DuckDB reads`,
    {
      ...details,
      hint: 'nothing was loaded; leave its long columns out (output.columns) and write the output again: foliopipe publish RUN; then: foliopipe load RUN; or load into Postgres',
    },
  );
}

function unreadable(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return loadUnreadable(text, place, details, '@duckdb/node-api');
}

function cannot(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return tableUnfit(text, place, details, 'the table');
}

function failed(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return loadFailed(text, place, details, 'the documentation of DuckDB');
}
