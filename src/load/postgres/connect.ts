/** A transaction of a load. */
import { ConfigError } from '../../errors.js';
import { type Transaction, withTransaction as withAnyTransaction } from '../../postgres/connect.js';
import type { TargetOptions } from '../load-target.js';
import { translateError } from './translate-error.js';

/** A transaction of Postgres, below the one of a load. */
export type Connection = Pick<Transaction, 'query' | 'copyFrom'>;
export type Query = Connection['query'];

/**
 * Runs a body in one transaction. It is undone unless the body asks for a commit, also when this process is killed.
 * @throws the errors of `translateError`; ConfigError `LOAD_DRIVER_MISSING`; the signal's reason.
 */
export async function withTransaction<T>(
  target: TargetOptions,
  signal: AbortSignal,
  body: (connection: Connection, commit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const options = {
    ...target,
    begin: 'begin isolation level read committed',
    driverMissing,
    translate: translateError,
  };
  return withAnyTransaction(options, signal, body);
}

function driverMissing(): ConfigError {
  return new ConfigError('LOAD_DRIVER_MISSING', 'load.into needs the packages pg and pg-copy-streams', {
    hint: 'npm install pg pg-copy-streams',
  });
}
