/**
 * A connection to Postgres that stays open. What is asked runs one after the other, in the order of the calls. After a
 * loss the next call connects again, and waits for a server that restarts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, CustomTypesConfig } from 'pg';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import type { ConfigError } from '../errors.js';
import { importPostgres } from './connect.js';
import { readPostgresError } from './read-error.js';
import { type Prepared, type Value, valuesOf } from './statement.js';

/** Runs a statement within a transaction. */
export type Query = <Row>(
  statement: Prepared<Row>,
  values?: Readonly<Record<string, Value>>,
) => Promise<readonly Row[]>;

export interface PostgresSession {
  /** The database as it may be shown. */
  readonly place: string;
  /**
   * Runs one statement, which is a transaction of its own.
   * @param isRepeatable it may run a second time if the connection was lost before its end was known.
   * @param onSend called just before it is sent, which may be long after the call.
   */
  query<Row>(
    statement: Prepared<Row>,
    values: Readonly<Record<string, Value>>,
    isRepeatable: boolean,
    onSend?: () => void,
  ): Promise<readonly Row[]>;
  /**
   * Runs several statements as one transaction, which is undone if the body throws.
   * @param begin statements without values that begin it, such as `BEGIN`.
   * @param isRepeatable as in `query`; the body is then called again.
   */
  transaction<T>(begin: string, body: (query: Query) => Promise<T>, isRepeatable?: boolean): Promise<T>;
  /** Runs statements without values. */
  execute(text: string): Promise<void>;
  /**
   * Hears what is notified on a channel from now on. What is notified while the connection is lost is not heard.
   * @returns what ends it.
   */
  listen(channel: string, hear: Hear): Promise<() => void>;
  close(): Promise<void>;
}

/** Is given the text of a notification. */
type Hear = (payload: string) => void;

export interface SessionOptions {
  readonly address: DatabaseAddress;
  /** Statements that each new connection begins with. */
  readonly settings?: string;
  readonly driverMissing: () => ConfigError;
  /** What an error of the server or of the connection means for the caller. */
  readonly translate: (error: unknown, place: string) => unknown;
}

/** A first connection that cannot be made is an error soon; a lost one is waited for. */
const CONNECT_MS = 10_000;
const PATIENCE_MS = 30_000;
const RETRY_EVERY_MS = 250;
/** A statement without an answer for so long has lost its server. */
const ANSWER_MS = 60_000;

/**
 * A process that stops within a transaction keeps its rows locked until the server ends the transaction. A process or a
 * network that is gone is noticed by keepalive.
 */
const SETTINGS = `
  SET synchronous_commit = on; SET statement_timeout = 0; SET lock_timeout = '20s';
  SET idle_in_transaction_session_timeout = '10s';
  SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;`;

/** Opens a session. @throws what `translate` and `driverMissing` make. */
export async function openSession(options: SessionOptions): Promise<PostgresSession> {
  const { address, driverMissing, translate } = options;
  const place = String(address);
  const pg = await importPostgres(driverMissing);
  const types = numbersAsNumbers(pg.types);
  let client: Client | undefined;
  let isClosed = false;
  /** Since when no connection can be made. What waits in line does not wait anew, one after the other. */
  let downSince: number | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const listeners = new Map<string, Set<Hear>>();

  const connect = async (): Promise<Client> => {
    const opened = new pg.Client({
      connectionString: address.reveal(),
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      application_name: 'foliopipe',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types,
    });
    // Without a listener, Node would end. A loss is noticed by the next call.
    opened.on('error', () => drop(opened));
    opened.on('end', () => drop(opened));
    opened.on('notification', ({ channel, payload }) => {
      for (const hear of listeners.get(channel) ?? []) hear(payload ?? '');
    });
    try {
      await opened.connect();
      const channels = [...listeners.keys()].map(listenTo).join(' ');
      await opened.query(`${SETTINGS} ${options.settings ?? ''} ${channels}`);
    } catch (error) {
      drop(opened);
      throw isLoss(error) ? new ConnectionLost(error) : error;
    }
    return opened;
  };
  const drop = (lost: Client) => {
    if (client === lost) client = undefined;
    lost.end().catch(() => undefined);
  };
  const connected = async (): Promise<Client> => {
    while (client === undefined) {
      try {
        client = await connect();
        downSince = undefined;
      } catch (error) {
        downSince ??= performance.now();
        const isOver = performance.now() >= downSince + PATIENCE_MS;
        if (!(error instanceof ConnectionLost) || isOver || isClosed) throw error;
        await sleep(RETRY_EVERY_MS);
      }
    }
    return client;
  };
  /** Runs work when all earlier work has ended. */
  const inOrder = <T>(work: (client: Client) => Promise<T>, isRepeatable: boolean): Promise<T> => {
    const attempt = async (): Promise<T> => {
      for (let isRepeated = false; ; isRepeated = true) {
        let used: Client | undefined;
        try {
          used = await connected();
          return await work(used);
        } catch (error) {
          const isLost = error instanceof ConnectionLost;
          if (used !== undefined && isLost) drop(used);
          if (!isLost || used === undefined || !isRepeatable || isRepeated) {
            throw translate(isLost ? error.cause : error, place);
          }
        }
      }
    };
    const result = last.then(attempt);
    last = result.catch(() => undefined);
    return result;
  };

  try {
    client = await connect();
  } catch (error) {
    throw translate(error instanceof ConnectionLost ? error.cause : error, place);
  }
  return {
    place,
    query: (asked, values, isRepeatable, onSend) =>
      inOrder((used) => {
        onSend?.();
        return ask(used, asked, values);
      }, isRepeatable),
    transaction: (begin, body, isRepeatable = false) =>
      inOrder(async (used) => {
        await run(used, begin);
        try {
          const result = await body((asked, values = {}) => ask(used, asked, values));
          await run(used, 'COMMIT');
          return result;
        } catch (error) {
          if (!(error instanceof ConnectionLost)) await used.query('ROLLBACK').catch(() => drop(used));
          throw error;
        }
      }, isRepeatable),
    execute: (text) => inOrder((used) => run(used, text), false),
    listen: async (channel, hear) => {
      const hearing = listeners.get(channel) ?? new Set();
      listeners.set(channel, hearing.add(hear));
      await inOrder((used) => run(used, listenTo(channel)), true);
      return () => {
        hearing.delete(hear);
        if (hearing.size > 0 || !listeners.delete(channel) || isClosed) return;
        inOrder((used) => run(used, `UN${listenTo(channel)}`), true).catch(() => undefined);
      };
    },
    close: async () => {
      isClosed = true;
      await last;
      await client?.end().catch(() => undefined);
    },
  };
}

async function ask<Row>(
  client: Client,
  asked: Prepared<Row>,
  values: Readonly<Record<string, Value>>,
): Promise<readonly Row[]> {
  const { name, text } = asked;
  const known = valuesOf(asked, values);
  const { rows } = await client.query({ name, text, values: known }).catch(throwLoss);
  return rows as Row[];
}

async function run(client: Client, text: string): Promise<void> {
  await client.query(text).catch(throwLoss);
}

function listenTo(channel: string): string {
  return `LISTEN "${channel}";`;
}

/** The server or the connection is gone; the cause is the driver's error. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('the connection was lost', { cause });
  }
}

function throwLoss(error: unknown): never {
  throw isLoss(error) ? new ConnectionLost(error) : error;
}

/** Whether the connection is gone, or the server ends it: what was asked has been done, or not. */
function isLoss(error: unknown): boolean {
  const trouble = readPostgresError(error);
  if (trouble?.kind === 'server') return /^(?:08|57P0[1-5]|25P03)/.test(trouble.sqlstate);
  return trouble?.kind === 'lost';
}

const INT8 = 20;

/** Counts and sizes are below 2^53. */
function numbersAsNumbers({ getTypeParser }: CustomTypesConfig): CustomTypesConfig {
  const parserOf = (oid: number, format?: 'text') => (oid === INT8 ? Number : getTypeParser(oid, format));
  return { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
}
