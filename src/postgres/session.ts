/**
 * A connection to Postgres that stays open. Statements run one after the other, in the order of the calls. After a loss
 * the next call connects again, and waits for a server that restarts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DatabaseAddress } from '../config/sections/load-section.js';
import type { ConfigError } from '../errors.js';
import {
  connectClient,
  createClient,
  destroyClient,
  endClient,
  importPostgres,
  numbersAsNumbers,
} from './client.js';
import { copyBytes } from './copied-bytes.js';
import { isLoss, isPassing } from './read-error.js';
import { type Prepared, type Value, valuesOf } from './statement.js';

/** Runs a statement within a transaction. */
export type Query = <Row>(
  statement: Prepared<Row>,
  values?: Readonly<Record<string, Value>>,
) => Promise<readonly Row[]>;

/**
 * Whether the statement may run a second time. `outcome`: it may run as often as needed, and its change must not be
 * lost, so the session waits longer for a database that is away or busy, even after the session was given up.
 */
export type Repeat = boolean | 'outcome';

export interface PostgresSession {
  /** The database as it may be shown. */
  readonly place: string;
  /**
   * Runs one statement, which is a transaction of its own.
   * @param repeat whether it may run a second time if the connection was lost before its outcome was known.
   * @param onSend called just before it is sent, which may be long after the call.
   */
  query<Row>(
    statement: Prepared<Row>,
    values: Readonly<Record<string, Value>>,
    repeat: Repeat,
    onSend?: () => void,
  ): Promise<readonly Row[]>;
  /** Reads the bytes of a statement that returns one row with bytes, or none. */
  readBytes(
    statement: Prepared<{ bytes: Buffer }>,
    values: Readonly<Record<string, string | number>>,
  ): Promise<Buffer | undefined>;
  /**
   * Runs several statements as one transaction, which is rolled back if the body throws.
   * @param begin statements without values that begin it, such as `BEGIN`.
   * @param repeat as in `query`; the body is then called again.
   */
  transaction<T>(begin: string, body: (query: Query) => Promise<T>, repeat?: Repeat): Promise<T>;
  /** Runs statements without values. */
  execute(text: string): Promise<void>;
  /**
   * Listens to a channel from now on. Notifications are missed while the connection is lost.
   * @returns a function that stops listening.
   */
  listen(channel: string, hear: Hear): Promise<() => void>;
  /** Why it could not connect again after a loss; undefined once it is connected, and before it has tried. */
  trouble(): unknown;
  /** The error of a server that is connected and gives no answer. */
  noAnswer(): unknown;
  /** Ends when all earlier calls have ended. Later calls fail, except outcomes. */
  close(): Promise<void>;
}

/** Receives the text of a notification. */
type Hear = (payload: string) => void;

export interface SessionOptions {
  readonly address: DatabaseAddress;
  /** Statements that each new connection begins with. */
  readonly settings?: string;
  /** Why the session is no longer needed: it waits for no database then, and a loss is this error. Undefined before. */
  readonly givenUp?: (() => unknown) | undefined;
  /** How long a call waits for a lost connection, in ms. */
  readonly patience: number;
  /** The same for an outcome, which must not be forgotten. */
  readonly outcomePatience: number;
  /** How long a statement may take, in ms. Without an answer by then, the server counts as lost. */
  readonly answerMs: number;
  readonly driverMissing: () => ConfigError;
  /** What an error of the server or of the connection means for the caller. */
  readonly translate: (error: unknown, place: string) => unknown;
}

/** A first connection that cannot be made is soon an error; calls wait longer for a lost one. */
const CONNECT_MS = 10_000;
const RETRY_EVERY_MS = 250;
/** How long a statement may still take when its answer is no longer needed. */
const GIVEN_UP_MS = 3_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Replaces the settings of the role. A transaction that has waited for others sees what they have committed. If a
 * process stops within one, its rows stay locked until the server ends it. Keepalive notices a process or a network
 * that is gone.
 */
const SETTINGS = `
  SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
  SET statement_timeout = 0; SET lock_timeout = '20s'; SET idle_in_transaction_session_timeout = '10s';
  SELECT set_config('transaction_timeout', '0', false) WHERE current_setting('server_version_num')::int >= 170000;
  SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;`;

/** Opens a session. @throws what `translate` and `driverMissing` return. */
export async function openSession(options: SessionOptions): Promise<PostgresSession> {
  const { address, driverMissing, translate } = options;
  const place = String(address);
  const pg = await importPostgres(driverMissing);
  const types = numbersAsNumbers(pg.types);
  let client: Client | undefined;
  let isClosed = false;
  /** Whether `close` has ended the connection. */
  let hasEnded = false;
  let trouble: unknown;
  /** Since when it has been trying to connect, and when it last failed. */
  let awaySince: number | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let last: Promise<unknown> = Promise.resolve();
  const listeners = new Map<string, Set<Hear>>();
  /** What waits for the server now, and for how long; a process that is paused does not wait. */
  let waiting: { readonly client: Client; readonly repeat: Repeat; ms: number } | undefined;

  const connect = async (): Promise<Client> => {
    const opened = createClient(pg, {
      connectionString: address.reveal(),
      connectionTimeoutMillis: Math.min(CONNECT_MS, options.answerMs),
      query_timeout: options.answerMs,
      types,
    });
    // Without a listener, Node would end the process. The next call notices the loss.
    opened.on('error', () => drop(opened));
    opened.on('end', () => drop(opened));
    opened.on('notification', ({ channel, payload }) => {
      for (const hear of listeners.get(channel) ?? []) hear(payload ?? '');
    });
    try {
      await connectClient(opened);
      const channels = [...listeners.keys()].map(listenTo).join(' ');
      await opened.query(`${SETTINGS} ${options.settings ?? ''} ${channels}`);
    } catch (error) {
      drop(opened);
      trouble = translate(error, place);
      throw isPassing(error) ? new ConnectionLost(error) : error;
    }
    trouble = undefined;
    return opened;
  };
  const drop = (lost: Client) => {
    if (client === lost) client = undefined;
    destroyClient(lost);
  };
  const isOver = (repeat: Repeat) => repeat !== 'outcome' && (isClosed || options.givenUp?.() !== undefined);
  const failure = (error: unknown, repeat: Repeat) => {
    if (!(error instanceof ConnectionLost)) return translate(error, place);
    return (repeat === 'outcome' ? undefined : options.givenUp?.()) ?? translate(error.cause, place);
  };
  const connected = async (repeat: Repeat): Promise<Client> => {
    const began = performance.now();
    // Otherwise each of many waiting calls would wait again.
    if (began - failedAt > options.patience) awaySince = undefined;
    const until = (awaySince ?? began) + options[repeat === 'outcome' ? 'outcomePatience' : 'patience'];
    while (client === undefined) {
      // Calls that wait in line behind one that has failed fail too.
      if (trouble !== undefined && isOver(repeat)) throw trouble;
      try {
        client = await connect();
        awaySince = undefined;
      } catch (error) {
        failedAt = performance.now();
        awaySince ??= began;
        const isLate = failedAt >= until || isClosed || isOver(repeat);
        if (!(error instanceof ConnectionLost) || isLate) throw error;
        await sleep(RETRY_EVERY_MS);
      }
    }
    return client;
  };
  const end = async () => client && endClient(client);
  /** Runs work when all earlier work has ended. */
  const inOrder = async <T>(work: (client: Client) => Promise<T>, repeat: Repeat): Promise<T> => {
    // After `close`, only an outcome justifies a new connection.
    if (isClosed && repeat !== 'outcome') throw translate(new Error('the connection is closed'), place);
    const attempt = async (): Promise<T> => {
      const until = performance.now() + options.outcomePatience;
      for (let isRepeated = false; ; isRepeated = true) {
        let used: Client | undefined;
        try {
          used = await connected(repeat);
          waiting = { client: used, repeat, ms: 0 };
          return await work(used);
        } catch (error) {
          const isLost = error instanceof ConnectionLost;
          if (used !== undefined && isLost) drop(used);
          const mayRepeat =
            repeat === 'outcome'
              ? (isLost || isPassing(error)) && performance.now() < until
              : isLost && repeat && !isRepeated && !isOver(repeat);
          if (used === undefined || !mayRepeat) throw failure(error, repeat);
        } finally {
          waiting = undefined;
        }
        if (isRepeated) await sleep(RETRY_EVERY_MS);
      }
    };
    const result = last.then(attempt);
    last = result.catch(() => undefined).then(() => (hasEnded ? end() : undefined));
    return result;
  };

  try {
    client = await connect();
  } catch (error) {
    throw failure(error, false);
  }
  const watch = setInterval(() => {
    if (waiting === undefined || !isOver(waiting.repeat)) return;
    waiting.ms += LOOK_EVERY_MS;
    if (waiting.ms >= GIVEN_UP_MS) drop(waiting.client);
  }, LOOK_EVERY_MS);
  watch.unref();
  return {
    place,
    query: (asked, values, repeat, onSend) =>
      inOrder((used) => {
        onSend?.();
        return ask(used, asked, values);
      }, repeat),
    readBytes: (asked, values) =>
      inOrder((used) => copyBytes(used, pg.Query, asked, values).catch(throwLoss), true),
    transaction: (begin, body, repeat = false) =>
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
      }, repeat),
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
    trouble: () => trouble,
    noAnswer: () => translate(new Error('timeout expired'), place),
    close: async () => {
      isClosed = true;
      await last;
      hasEnded = true;
      clearInterval(watch);
      await end();
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
