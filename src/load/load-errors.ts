/** Errors that loads into all databases have in common. The text is the same; the hint says what helps in the database. */
import {
  ConfigError,
  type ErrorDetails,
  type FoliopipeError,
  RefusedError,
  TroubleError,
  UntrustedError,
} from '../errors.js';
import { showNames, showText } from '../text.js';

/**
 * Makes the error of a load from what a database says.
 * @param place the database as it may be shown, here and below.
 */
export type Translate = (text: string, place: string, details: ErrorDetails) => FoliopipeError;

/** The end of a hint: the same command repeats only the load. */
export const AGAIN = 'run the same command again: nothing is paid again';

export function loadDenied(text: string, place: string, details: ErrorDetails, hint: string): RefusedError {
  return new RefusedError('LOAD_DENIED', `${place} refuses the load: ${text}`, { ...details, hint });
}

export function loadBusy(text: string, place: string, details: ErrorDetails, hint: string): TroubleError {
  return new TroubleError('LOAD_BUSY', `${place} could not do the load now: ${text}`, { ...details, hint });
}

/** @param program the program whose version matters. */
export function loadUnreadable(
  text: string,
  place: string,
  details: ErrorDetails,
  program: string,
): UntrustedError {
  return new UntrustedError(
    'LOAD_UNREADABLE',
    `${place} does not read the output as it was written: ${text}`,
    {
      ...details,
      hint: `nothing was loaded; please report it, with the version of ${program}`,
    },
  );
}

export function valueUnfit(text: string, place: string, details: ErrorDetails): ConfigError {
  return new ConfigError('LOAD_VALUE_UNFIT', `${place}: a value does not fit the table: ${text}`, {
    ...details,
    hint: 'nothing was loaded; give the column a type that holds the values, such as text; then run the same command again',
  });
}

export function tableUnfit(text: string, place: string, details: ErrorDetails, change: string): ConfigError {
  return new ConfigError('LOAD_UNFIT', `${place} cannot load the output into this table: ${text}`, {
    ...details,
    hint: `change ${change}, or load into another one (load.table); then run the same command again`,
  });
}

/** @param table the table of loads, in SQL. @param missing its columns that are gone, or were never there. */
export function loadsUnfit(table: string, missing: readonly string[]): ConfigError {
  return new ConfigError(
    'LOAD_UNFIT',
    `the table ${table}, which records the loads of its schema, lacks the column ${missing.join(', ')}`,
    {
      hint: 'nothing was loaded; give it the column again, or rename the table if another program made it (foliopipe then creates its own), and run the same command again',
      facts: { table, columns: missing.join(', ') },
    },
  );
}

/** @param manual the text that explains the message. */
export function loadFailed(text: string, place: string, details: ErrorDetails, manual: string): ConfigError {
  return new ConfigError('LOAD_FAILED', `${place} refuses the load: ${text}`, {
    ...details,
    hint: `nothing was loaded; look up the message in ${manual}; then run the same command again`,
  });
}

// The keys of an output are compared as texts: `1` and `01` are two keys. The table must distinguish them, too.
const KEY_HINT =
  'give the key columns of the table the type text (varchar) without a collation of its own, or load into another table (load.table); then: foliopipe load';

/** @param column a column that ignores case or the like when it compares. */
export function looseKeyError(table: string, column: string): ConfigError {
  return new ConfigError(
    'LOAD_KEY_UNFIT',
    `load.table: ${showText(column, 63)} of ${showText(table, 130)} treats different keys as equal, such as ab and AB (its collation, or citext)`,
    {
      hint: 'give the key columns of the table the type text (varchar) with a deterministic collation, and their index no other one; then run the same command again',
      facts: { table, column },
    },
  );
}

/** @param columns of the key. @param key as it is in the output; the table has stored it differently. */
export function storedKeyError(columns: readonly string[], key: readonly string[]): ConfigError {
  return new ConfigError(
    'LOAD_KEY_UNFIT',
    `the table does not give the key ${showNames(key, 63)} of ${showNames(columns, 63)} back as it was written, so different keys could become equal`,
    { hint: `nothing was loaded; ${KEY_HINT}`, facts: { columns: columns.join(', ') } },
  );
}

/**
 * @param what what is wrong with the rows.
 * @param table its name in SQL.
 */
export function rowsLeftOut(what: string, table: string): ConfigError {
  return new ConfigError(
    'LOAD_UNFIT',
    `${table} does not store the output unchanged: ${what}. A trigger, a rule or a policy of the table decides on its rows`,
    {
      hint: 'nothing was loaded; remove it, or load into another table (load.table); then run the same command again',
      facts: { table },
    },
  );
}

/** @param columns of the key, in which the table treats two rows of the output as equal. */
export function doubleKeyError(columns: readonly string[]): ConfigError {
  return new ConfigError(
    'LOAD_KEY_UNFIT',
    `two keys of the output are the same in ${showNames(columns, 63)} of the table`,
    { hint: `nothing was loaded; ${KEY_HINT}`, facts: { columns: columns.join(', ') } },
  );
}
