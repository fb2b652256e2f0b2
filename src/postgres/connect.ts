/** Connects to Postgres, does something in one transaction, and closes the connection. */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import type { ConfigError } from '../errors.js';
import { connectClient, createClient, endClient, expectInstalled, importPostgres } from './client.js';

/** A statement with its values. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface Transaction {
  /** @returns the rows with the names of their columns, and how many the statement has written. */
  query<Row = Record<string, unknown>>(
    statement: Statement | string,
  ): Promise<{ readonly rows: readonly Row[]; readonly columns: readonly string[]; readonly count: number }>;
  /** Sends the bytes as the data of a COPY. @returns the rows that the server has counted. */
  copyFrom(text: string, bytes: AsyncIterable<Uint8Array>): Promise<number>;
  /** The data of a COPY, piece by piece. The server waits while a piece is not taken. */
  copyTo(text: string): AsyncIterable<Uint8Array>;
}

export interface ConnectOptions {
  readonly address: DatabaseAddress;
  /** Longest time until the connection is open, in ms. */
  readonly connectMs: number;
  /** `begin` with the isolation of the transaction. */
  readonly begin: string;
  /** The error for packages that are not installed. */
  readonly driverMissing: () => ConfigError;
  /** What an error of the server or of the connection means for the caller. */
  readonly translate: (error: unknown, place: string) => unknown;
}

/**
 * Runs a body in one transaction. It is rolled back unless the body commits it, also when this process is killed.
 * @param body calls `commit` when its work is done.
 * @throws the errors of `translate` and `driverMissing`; the signal's reason.
 */
export async function withTransaction<T>(
  { address, connectMs, begin, driverMissing, translate }: ConnectOptions,
  signal: AbortSignal,
  body: (transaction: Transaction, commit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { pg, copies } = await importDriver(driverMissing);
  const place = String(address);
  let client: Client | undefined;
  const stop = () => void (client && endClient(client));
  try {
    client = createClient(pg, {
      connectionString: address.reveal(),
      connectionTimeoutMillis: connectMs,
    });
    const opened = client;
    // A lost connection is reported by the statement that needs it.
    opened.on('error', () => undefined);
    signal.addEventListener('abort', stop, { once: true });
    await connectClient(opened);
    await opened.query(begin);
    await opened.query(settings);
    const transaction: Transaction = {
      query: async (statement) => {
        const { text, values = [] } = typeof statement === 'string' ? { text: statement } : statement;
        const { rows, rowCount, fields } = await opened.query(text, [...values]);
        return { rows, columns: fields.map(({ name }) => name), count: rowCount ?? 0 };
      },
      copyFrom: async (text, bytes) => {
        const copy = opened.query(copies.from(text));
        await pipeline(bytes, copy);
        return copy.rowCount;
      },
      copyTo: (text) => endingWithError(opened.query(copies.to(text))),
    };
    return await body(transaction, async () => {
      signal.throwIfAborted();
      await opened.query('commit');
    });
  } catch (error) {
    throw signal.aborted ? signal.reason : translate(error, place);
  } finally {
    signal.removeEventListener('abort', stop);
    // Ends the transaction too, if it is not committed.
    if (client !== undefined) await endClient(client);
  }
}

/**
 * Ends a stream with its error. The driver only emits the error. Without a listener at that moment, such as between two
 * pieces, that would end the process, and a later reader would wait for ever.
 */
function endingWithError<T extends Readable>(stream: T): T {
  return stream.on('error', (error) => stream.destroy(error));
}

/**
 * Replaces the limits of the role, which may be short for interactive use. Waits for another load, or for a reader that
 * holds the table. From version 14 on, the server checks every few seconds, as far as it can, whether this process is
 * still there.
 */
const settings = `
  select set_config('statement_timeout', '0', true),
         set_config('idle_in_transaction_session_timeout', '0', true),
         set_config('lock_timeout', '10min', true),
         set_config('client_encoding', 'UTF8', true),
         case when current_setting('server_version_num')::int >= 170000
              then set_config('transaction_timeout', '0', true) end,
         case when current_setting('server_version_num')::int >= 140000
              then set_config('client_connection_check_interval', '5s', true) end`;

/** Both packages are installed by those who use Postgres. */
async function importDriver(driverMissing: () => ConfigError) {
  return {
    pg: await importPostgres(driverMissing),
    copies: await expectInstalled(import('pg-copy-streams'), driverMissing),
  };
}
