/** Reads an error of Postgres, of its driver or of the connection: what has happened, for any statement. */
import { FoliopipeError } from '../errors.js';
import { oneLine, shorten } from '../text.js';

/** The codes of Postgres have five characters; the first two are their class. */
const SQLSTATE = /^[0-9A-Z]{5}$/;

export type PostgresTrouble =
  /** The server does not accept user or password. The server's text is left out, because it names the user. */
  | { readonly kind: 'refused' }
  /** The server cannot be reached, or the connection was lost. */
  | { readonly kind: 'lost'; readonly text: string }
  /** The server has rejected a statement. */
  | {
      readonly kind: 'server';
      readonly sqlstate: string;
      readonly text: string;
      /** What the server proposes, such as another name; null if it proposes nothing. */
      readonly advice: string | null;
      /** The place of the error in the statement, in characters from 1; null if it has none. */
      readonly position: number | null;
    };

/**
 * Recognizes errors of Postgres and of the system by their codes, and the driver's own errors by their text.
 * @returns undefined for an error of this program, or of another one.
 */
export function readPostgresError(error: unknown): PostgresTrouble | undefined {
  if (!(error instanceof Error) || error instanceof FoliopipeError) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  if (SQLSTATE.test(code) && 'severity' in error) {
    if (code.startsWith('28')) return { kind: 'refused' };
    const { hint, position } = error as { readonly hint?: unknown; readonly position?: unknown };
    return {
      kind: 'server',
      sqlstate: code,
      text: shorten(oneLine(error.message), 300),
      advice: typeof hint === 'string' ? shorten(oneLine(hint), 200) : null,
      position: Number(position) > 0 ? Number(position) : null,
    };
  }
  if (code === '' && /SASL|password/.test(error.message)) return { kind: 'refused' };
  if (!isOfConnection(error)) return undefined;
  return { kind: 'lost', text: code || shorten(oneLine(error.message), 100) };
}

/** Codes of the system, of TLS and of Node's streams. */
const NETWORK =
  /^(?:ECONN|EHOST|ENET|EADDR|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|CERT_|DEPTH_|SELF_|UNABLE_|ERR_(?:SSL|TLS|STREAM_))/;

/** The driver's own errors have no code: a time-out, an end of the connection, a server without TLS. */
function isOfConnection(error: Error): boolean {
  if ('code' in error) return NETWORK.test(String(error.code));
  return /connection|timeout|terminated|not queryable|SSL/i.test(error.message);
}

/**
 * Whether the connection is gone, or the server ends it: it is unknown whether the statement was carried out. A server
 * that takes no changes any more has become a standby: over a new connection, another one may answer.
 */
export function isLoss(error: unknown): boolean {
  return isOneOf(error, /^(?:08|57P0[1-5]|25P0[34]|25006)/);
}

/** Whether a repetition may succeed later: a loss, a deadlock, a lock that others hold, or a server without room. */
export function isPassing(error: unknown): boolean {
  return isLoss(error) || isOneOf(error, /^(?:40|53|55P03|57014|58)/);
}

/** @param sqlstates of errors of the server. A lost connection is always one of them. */
function isOneOf(error: unknown, sqlstates: RegExp): boolean {
  const trouble = readPostgresError(error);
  return trouble?.kind === 'server' ? sqlstates.test(trouble.sqlstate) : trouble?.kind === 'lost';
}

/**
 * Says what has happened to a lost connection, such as `cannot be reached: no process listens at db.test:5432
 * (ECONNREFUSED)`.
 * @param text of a `PostgresTrouble`.
 * @param place the database as it may be shown.
 */
export function lostText(text: string, place: string): string {
  const { hostname = '', port = '' } = URL.canParse(place) ? new URL(place) : {};
  const at = `${hostname}:${port || DEFAULT_PORT}`;
  const why = hostname === '' ? undefined : reasons(hostname, at)[text];
  return why === undefined
    ? `cannot be reached, or the connection was lost (${text})`
    : `cannot be reached: ${why} (${text})`;
}

const DEFAULT_PORT = 5432;

function reasons(host: string, at: string): Readonly<Record<string, string>> {
  const silent = `${at} gives no answer`;
  return {
    ECONNREFUSED: `no process listens at ${at}`,
    ENOTFOUND: `no host has the name ${host}`,
    EAI_AGAIN: `the name ${host} cannot be looked up now`,
    ETIMEDOUT: silent,
    'timeout expired': silent,
    EHOSTUNREACH: `no network leads to ${host}`,
    ENETUNREACH: `no network leads to ${host}`,
  };
}

/**
 * What a person does about a lost connection before running the same command again.
 * @param key the key of the config that has the address.
 */
export function databaseCheck(text: string, key: string): string {
  if (text === 'ENOTFOUND') return `correct the host in ${key}, or let this machine know its name`;
  if (/SSL connections/.test(text)) return `leave sslmode out of ${key}, or let the server speak TLS`;
  if (/^(?:CERT_|DEPTH_|SELF_|UNABLE_)/.test(text)) {
    return `name the certificate authority of the server with sslrootcert in ${key}, or in NODE_EXTRA_CA_CERTS`;
  }
  if (text === 'ECONNREFUSED') return `start the database, or correct host and port in ${key}`;
  return 'look whether the database is up';
}
