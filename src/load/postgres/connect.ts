/** Connects to Postgres, does something in one transaction, and closes the connection. */
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { ConfigError } from '../../errors.js';
import type { Statement } from '../database.js';
import type { TargetOptions } from '../load-target.js';
import { translateError } from './translate-error.js';

/** @returns the rows, and how many the statement has written. */
export type Query = <Row = Record<string, unknown>>(
  statement: Statement | string,
) => Promise<{ readonly rows: readonly Row[]; readonly count: number }>;

export interface Connection {
  readonly query: Query;
  /** Sends the bytes as the data of a COPY. @returns the rows that the server has counted. */
  copyFrom(text: string, bytes: AsyncIterable<Uint8Array>): Promise<number>;
}

/**
 * Runs a body in one transaction. It is undone unless the body asks for a commit, also when this process is killed.
 * @param body ends with whether to commit.
 * @throws the errors of `translateError`; the signal's reason.
 */
export async function withTransaction<T>(
  { address, connectMs }: TargetOptions,
  signal: AbortSignal,
  body: (connection: Connection, commit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { pg, copies } = await importDriver();
  const place = String(address);
  let client: Client | undefined;
  const stop = () => void client?.end().catch(() => undefined);
  try {
    client = new pg.Client({
      connectionString: address.reveal(),
      connectionTimeoutMillis: connectMs,
      application_name: 'foliopipe',
      keepAlive: true,
    });
    const opened = client;
    // A lost connection is reported by the statement that needs it.
    opened.on('error', () => undefined);
    signal.addEventListener('abort', stop, { once: true });
    await opened.connect();
    await opened.query('begin isolation level read committed');
    await opened.query(settings);
    const connection: Connection = {
      query: async (statement) => {
        const { text, values = [] } = typeof statement === 'string' ? { text: statement } : statement;
        const { rows, rowCount } = await opened.query(text, [...values]);
        return { rows, count: rowCount ?? 0 };
      },
      copyFrom: async (text, bytes) => {
        const copy = opened.query(copies.from(text));
        await pipeline(bytes, copy);
        return copy.rowCount;
      },
    };
    return await body(connection, async () => void (await opened.query('commit')));
  } catch (error) {
    throw signal.aborted ? signal.reason : translateError(error, place);
  } finally {
    signal.removeEventListener('abort', stop);
    // Ends the transaction too, if it is not committed.
    await client?.end().catch(() => undefined);
  }
}

/**
 * A role may have short limits for interactive use. Another load, or a reader that holds the table, is waited for. The
 * server looks every few seconds whether this process is still there, as far as it can (from version 14 on).
 */
const settings = `
  select set_config('statement_timeout', '0', true),
         set_config('idle_in_transaction_session_timeout', '0', true),
         set_config('lock_timeout', '10min', true),
         set_config('client_encoding', 'UTF8', true),
         case when current_setting('server_version_num')::int >= 140000
              then set_config('client_connection_check_interval', '5s', true) end`;

/** Both packages are installed by those who load into Postgres. */
async function importDriver() {
  try {
    const { default: pg } = await import('pg');
    return { pg, copies: await import('pg-copy-streams') };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new ConfigError('LOAD_DRIVER_MISSING', 'load.into needs the packages pg and pg-copy-streams', {
      hint: 'npm install pg pg-copy-streams',
    });
  }
}
