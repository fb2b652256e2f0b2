/** Translates errors of Postgres and of its connection into those of a load, by their code. */
import {
  ConfigError,
  type ErrorDetails,
  type FoliopipeError,
  RefusedError,
  TroubleError,
  UntrustedError,
} from '../../errors.js';
import { databaseCheck, lostText, readPostgresError } from '../../postgres/read-error.js';
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

const byCode: Readonly<Record<string, Translate>> = {
  '42501': (text, place, details) =>
    loadDenied(
      text,
      place,
      details,
      'give the role that right (docs/warehouse.md lists what it needs); then run the same command again',
    ),
  '3D000': (_, place, details) =>
    new ConfigError('LOAD_DATABASE_MISSING', `${place} does not exist`, {
      ...details,
      hint: 'correct the database in load.into, or create it',
    }),
  '25006': (_, place, details) =>
    new TroubleError('LOAD_READ_ONLY', `${place} accepts no changes: it is a standby, or set to read-only`, {
      ...details,
      hint: `name the primary server in load.into, or ${AGAIN} when it is one`,
    }),
  '22021': notText,
  '22P05': notText,
  '22P04': (text, place, details) => loadUnreadable(text, place, details, 'the server'),
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
  '22': valueUnfit,
  '23': valueUnfit,
  '40': busy,
  '42': (text, place, details) => tableUnfit(text, place, details, 'the type of the column'),
  '53': busy,
  '54': (text, place, details) =>
    tableUnfit(text, place, details, 'the columns of the output (output.columns) or its key (source.key)'),
  '58': busy,
};

/** @param place the database as it may be shown. */
export function translateError(error: unknown, place: string): unknown {
  const trouble = readPostgresError(error);
  if (trouble === undefined) return error;
  if (trouble.kind === 'refused') return refused(place);
  if (trouble.kind === 'lost') return lost(trouble.text, place, {});
  const { sqlstate: code, text } = trouble;
  const details = { facts: { sqlstate: code } };
  const translate = byCode[code] ?? byClass[code.slice(0, 2)];
  if (translate !== undefined) return translate(text, place, details);
  return loadFailed(`${text} (${code})`, place, details, 'the manual of Postgres');
}

/** Whether one statement has written two rows with the same key. */
export function isDoubleKey(error: unknown): boolean {
  const trouble = readPostgresError(error);
  return trouble?.kind === 'server' && trouble.sqlstate === '21000';
}

function refused(place: string): FoliopipeError {
  return new RefusedError('LOAD_REFUSED', `${place} does not accept the user or the password of load.into`, {
    hint: 'correct load.into, or let the server accept this user from this machine',
  });
}

function lost(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return new TroubleError('LOAD_UNREACHABLE', `${place} ${lostText(text, place)}`, {
    ...details,
    hint: `${databaseCheck(text, 'load.into')}, then ${AGAIN}`,
  });
}

function busy(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return loadBusy(text, place, details, `nothing was loaded; ${AGAIN}`);
}

function notText(text: string, place: string, details: ErrorDetails): FoliopipeError {
  return new UntrustedError('LOAD_NOT_TEXT', `${place} cannot store a text of the output: ${text}`, {
    ...details,
    hint: 'nothing was loaded; a database with the encoding UTF8 stores all texts except those with a NUL character',
  });
}
