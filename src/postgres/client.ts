/**
 * The driver of Postgres, and clients that end even if their server does not answer any more. If the network or the other
 * machine is lost, only this side still has the connection open, and the driver would wait for an answer to its last
 * message.
 */
import { Socket } from 'node:net';
import type { Client, ClientConfig, CustomTypesConfig } from 'pg';
import type { ConfigError } from '../errors.js';

/** How long a server may take to end a connection. */
const END_MS = 2_000;

/** After this long a silence, the system checks whether the other side is still there. */
const ASK_AFTER_MS = 10_000;

const sockets = new WeakMap<Client, Socket>();

/**
 * Makes a client, which is not connected yet.
 * @param driver the package `pg`.
 */
export function createClient(
  driver: { readonly Client: new (config: ClientConfig) => Client },
  config: ClientConfig,
): Client {
  const socket = new Socket();
  const client = new driver.Client({
    ...config,
    application_name: 'foliopipe',
    // Notices after minutes a machine that is gone without a word. By default, the system begins to check after two
    // hours.
    keepAlive: true,
    keepAliveInitialDelayMillis: ASK_AFTER_MS,
    stream: () => socket,
  });
  sockets.set(client, socket);
  return client;
}

const INT8 = 20;

/** How a client reads numbers: counts and sizes are below 2^53. */
export function numbersAsNumbers({ getTypeParser }: CustomTypesConfig): CustomTypesConfig {
  const parserOf = (oid: number, format?: 'text') => (oid === INT8 ? Number : getTypeParser(oid, format));
  return { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
}

/** Connects a client. The driver itself never reports that a client was ended while it connected. */
export function connectClient(client: Client): Promise<unknown> {
  return new Promise((resolve, reject) => {
    client.once('end', () => reject(new Error('Connection terminated')));
    client.connect().then(resolve, reject);
  });
}

/** Ends the connection at once. Calls that wait for an answer fail. */
export function destroyClient(client: Client): void {
  // Tells the driver that the end is wanted, so that it reports no lost connection.
  client.end().catch(() => undefined);
  sockets.get(client)?.destroy();
}

/** Ends the connection, which rolls back an uncommitted transaction. Never rejects, and never waits for long. */
export async function endClient(client: Client): Promise<void> {
  const timer = setTimeout(() => destroyClient(client), END_MS);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}

/** The sockets of a pool, which end even if the other side does not answer any more. */
export function openSockets() {
  const opened = new Set<Socket>();
  return {
    open: () => {
      const socket = new Socket();
      opened.add(socket);
      socket.once('close', () => opened.delete(socket));
      return socket;
    },
    /** Ends the remaining connections when the pool has closed, or has tried to for long enough. */
    closeAfter: async (goodbye: Promise<void>) => {
      const timer = setTimeout(() => {
        for (const socket of opened) socket.destroy();
      }, END_MS);
      await goodbye;
      clearTimeout(timer);
    },
  };
}

/** Imports the driver, without the package for COPY. @throws what `driverMissing` returns, if it is not installed. */
export async function importPostgres(driverMissing: () => ConfigError) {
  const { default: pg } = await expectInstalled(import('pg'), driverMissing);
  return pg;
}

/** @throws what `driverMissing` returns, if the package is not installed. */
export async function expectInstalled<T>(loading: Promise<T>, driverMissing: () => ConfigError): Promise<T> {
  try {
    return await loading;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    throw code === 'ERR_MODULE_NOT_FOUND' ? driverMissing() : cause;
  }
}
