/** What an error of Postgres or of its connection means for the state. */
import { ConfigError, TroubleError } from '../../errors.js';
import { lostText, readPostgresError } from '../../postgres/read-error.js';

/** @param place the database as it may be shown. */
export function translateStateError(error: unknown, place: string): unknown {
  const trouble = readPostgresError(error);
  if (trouble === undefined) return error;
  const facts = { database: place };
  if (trouble.kind === 'refused') {
    return new ConfigError(
      'STATE_DATABASE_REFUSED',
      `${place} does not accept the user or the password of state`,
      { facts },
    );
  }
  if (trouble.kind === 'lost') return lost(trouble.text, place);
  const { sqlstate, text } = trouble;
  if (/^(?:08|57P0|25P0[34])/.test(sqlstate)) return lost(text, place);
  if (sqlstate === '3D000') {
    return new ConfigError('STATE_DATABASE_MISSING', `${place} does not exist`, { facts });
  }
  // A statement that this connection has prepared is gone, or another client has one of this name.
  if (sqlstate === '26000' || sqlstate === '42P05') return databasePooled(place);
  const details = { facts: { ...facts, sqlstate } };
  if (sqlstate === '42501') return databaseDenied(place, text, sqlstate);
  if (sqlstate === '25006') return databaseReadOnly(place);
  if (sqlstate === '53300') return new TroubleError('STATE_DATABASE_FULL', `${place}: ${text}`, details);
  return new TroubleError('STATE_DATABASE_FAILED', `${place}: ${text} (${sqlstate})`, details);
}

/** The error for a role that lacks a right. */
export function databaseDenied(place: string, text: string, sqlstate = '42501'): ConfigError {
  const message = `the database user in the config key state has too few rights in ${place}: ${text}`;
  return new ConfigError('STATE_DATABASE_DENIED', message, { facts: { database: place, sqlstate } });
}

/** The error for a pooler that lends a connection to others between two statements. */
export function databasePooled(place: string): ConfigError {
  const message = `${place} is a pooler in transaction mode, such as PgBouncer: it runs each statement on another connection, which lacks the prepared statements and settings`;
  return new ConfigError('STATE_DATABASE_POOLED', message, { facts: { database: place } });
}

/** The error for a standby, and for a database that takes no changes by its settings. */
export function databaseReadOnly(place: string): TroubleError {
  return new TroubleError('STATE_DATABASE_READ_ONLY', `${place} takes no changes: it is read-only`, {
    facts: { database: place },
  });
}

function lost(text: string, place: string): TroubleError {
  return new TroubleError(
    'STATE_DATABASE_LOST',
    `${place}, which holds the state, ${lostText(text, place)}`,
    {
      facts: { database: place, reason: text },
    },
  );
}

/** The driver is installed by those who use Postgres. */
export function driverMissing(): ConfigError {
  return new ConfigError(
    'STATE_DRIVER_MISSING',
    'the package pg, which state: postgres://... needs, is not installed',
  );
}
