/** Reads an error of Postgres, of its driver or of the connection: what has happened, whatever was asked. */
import { FoliopipeError } from '../errors.js';
import { oneLine, shorten } from '../text.js';

/** The codes of Postgres have five characters; the first two are their class. */
const SQLSTATE = /^[0-9A-Z]{5}$/;

export type PostgresTrouble =
  /** The server does not accept user or password. The server's text is left out, because it names the user. */
  | { readonly kind: 'refused' }
  /** The server cannot be reached, or the connection was lost. */
  | { readonly kind: 'lost'; readonly text: string }
  /** The server has said no to a statement. */
  | { readonly kind: 'server'; readonly sqlstate: string; readonly text: string };

/**
 * Reads the code that Postgres or the system has given; the driver's own errors by their text.
 * @returns undefined for an error of this program, or of another one.
 */
export function readPostgresError(error: unknown): PostgresTrouble | undefined {
  if (!(error instanceof Error) || error instanceof FoliopipeError) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  if (SQLSTATE.test(code) && 'severity' in error) {
    if (code.startsWith('28')) return { kind: 'refused' };
    return { kind: 'server', sqlstate: code, text: shorten(oneLine(error.message), 300) };
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
