/** Says what an error of Postgres or of its connection means for a load, by its code. */
import {
  ConfigError,
  type ErrorDetails,
  type FoliopipeError,
  RefusedError,
  TroubleError,
  UntrustedError,
} from '../../errors.js';
import { readPostgresError } from '../../postgres/read-error.js';

const AGAIN = 'run the same command again: nothing is paid again';

type Translate = (text: string, details: ErrorDetails, place: string) => FoliopipeError;

const byCode: Readonly<Record<string, Translate>> = {
  '42501': (text, details, place) =>
    new RefusedError('LOAD_DENIED', `${place} refuses the load: ${text}`, {
      ...details,
      hint: 'give the role that right (docs/warehouse.md lists what it needs); then the same command again',
    }),
  '3D000': (_, details, place) =>
    new ConfigError('LOAD_DATABASE_MISSING', `${place} does not exist`, {
      ...details,
      hint: 'correct the database in load.into, or create it',
    }),
  '25006': (_, details, place) =>
    new TroubleError('LOAD_READ_ONLY', `${place} accepts no changes: it is a standby, or set to read-only`, {
      ...details,
      hint: `name the primary server in load.into, or ${AGAIN} when it is one`,
    }),
  '22021': notText,
  '22P05': notText,
  '22P04': (text, details, place) =>
    new UntrustedError(
      'LOAD_UNREADABLE',
      `${place} reads the output otherwise than it was written: ${text}`,
      {
        ...details,
        hint: 'nothing was loaded; please report it, with the version of the server',
      },
    ),
  '55P03': busy,
  '57014': busy,
  '57P01': lost,
  '57P02': lost,
  '57P03': lost,
  '57P05': lost,
};

/** For codes that are not in `byCode`. */
const byClass: Readonly<Record<string, Translate>> = {
  '08': lost,
  '22': unfit,
  '23': unfit,
  '40': busy,
  '42': (text, details, place) =>
    new ConfigError('LOAD_UNFIT', `${place} cannot load the output into this table: ${text}`, {
      ...details,
      hint: 'change the type of the column, or load into another table (load.table); then the same command again',
    }),
  '53': busy,
  '58': busy,
};

/** @param place the database as it may be shown. */
export function translateError(error: unknown, place: string): unknown {
  const trouble = readPostgresError(error);
  if (trouble === undefined) return error;
  if (trouble.kind === 'refused') return refused({}, place);
  if (trouble.kind === 'lost') return lost(trouble.text, {}, place);
  const { sqlstate: code, text } = trouble;
  const details = { facts: { sqlstate: code } };
  const translate = byCode[code] ?? byClass[code.slice(0, 2)];
  if (translate !== undefined) return translate(text, details, place);
  return new ConfigError('LOAD_FAILED', `${place} refuses the load: ${text} (${code})`, {
    ...details,
    hint: 'nothing was loaded; look what the code means in the manual of Postgres; then the same command again',
  });
}

/** Whether one statement has written two rows with the same key. */
export function isDoubleKey(error: unknown): boolean {
  const trouble = readPostgresError(error);
  return trouble?.kind === 'server' && trouble.sqlstate === '21000';
}

function refused(details: ErrorDetails, place: string): FoliopipeError {
  return new RefusedError('LOAD_REFUSED', `${place} does not accept the user or the password of load.into`, {
    ...details,
    hint: 'correct load.into, or let the server accept this user from this machine',
  });
}

function lost(text: string, details: ErrorDetails, place: string): FoliopipeError {
  return new TroubleError(
    'LOAD_UNREACHABLE',
    `${place} cannot be reached, or the connection was lost (${text})`,
    {
      ...details,
      hint: `look whether the database is up, then ${AGAIN}`,
    },
  );
}

function busy(text: string, details: ErrorDetails, place: string): FoliopipeError {
  return new TroubleError('LOAD_BUSY', `${place} could not do the load now: ${text}`, {
    ...details,
    hint: `nothing was loaded; ${AGAIN}`,
  });
}

function unfit(text: string, details: ErrorDetails, place: string): FoliopipeError {
  return new ConfigError('LOAD_VALUE_UNFIT', `${place}: a value does not fit the table: ${text}`, {
    ...details,
    hint: 'nothing was loaded; give the column a type that holds the values, such as text; then the same command again',
  });
}

function notText(text: string, details: ErrorDetails, place: string): FoliopipeError {
  return new UntrustedError('LOAD_NOT_TEXT', `${place} cannot store a text of the output: ${text}`, {
    ...details,
    hint: 'nothing was loaded; a database with the encoding UTF8 stores all texts but those with a NUL character',
  });
}
