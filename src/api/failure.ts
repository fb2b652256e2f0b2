/** The ways in which one attempt at an operation can fail. A failure says how far the request got. */
import { diskError } from '../disk-error.js';
import { FoliopipeError } from '../errors.js';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Milliseconds } from '../types.js';

/** Messages can be shown: they are short, without control characters and without the token. */
export type Failure =
  /** No byte of the request was sent: no address, connection refused, no TLS. */
  | { readonly kind: 'unsent'; readonly code: string; readonly message: string }
  /** This machine cannot send: it has too many open files, or cannot read the file to upload. No byte was sent. */
  | {
      readonly kind: 'local';
      readonly code: string;
      readonly message: string;
      readonly error: FoliopipeError;
    }
  /** Cut or timed out after the request began. */
  | { readonly kind: 'cut'; readonly code: string; readonly message: string }
  /** A certificate does not verify, or the proxy wants another user or password; nothing was sent. */
  | { readonly kind: 'misconfigured'; readonly code: string; readonly message: string }
  /** A reply whose status is not a success. */
  | {
      readonly kind: 'status';
      readonly status: number;
      /** How long the service asks us to wait, if a 429 or 503 says so. */
      readonly retryAfter: Milliseconds | null;
      /** Whether the service itself wrote the body: a JSON object with `message` or `response`, unlike a proxy's page. */
      readonly fromService: boolean;
      readonly message: string;
    }
  /** A reply with a success status, but its body is cut, not JSON or of another shape. */
  | {
      readonly kind: 'malformed';
      readonly message: string;
      /** See `MalformedReplyError`. */
      readonly breach: string | null;
    };

export function isRedirect(status: number): boolean {
  return status >= 300 && status <= 399;
}

/** Whether a reply with this status may say how long to wait. */
export function isThrottle(status: number): boolean {
  return status === 429 || status === 503;
}

/** Whether a status says that the server has too much to do or fails for now. */
export function isBusy(status: number): boolean {
  return status >= 500 || status === 429 || status === 408 || status === 425;
}

/** Carries a failure from an attempt to the retry loop; never leaves this folder. */
export class AttemptError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'AttemptError';
    this.failure = failure;
  }
}

/** The failure that an attempt has thrown; undefined for any other error. @param show makes its message safe to show. */
export function failureOf(error: unknown, show: (text: string) => string): Failure | undefined {
  if (error instanceof AttemptError) return error.failure;
  if (!(error instanceof MalformedReplyError)) return undefined;
  return { kind: 'malformed', message: show(error.message), breach: error.breach };
}

/**
 * The failure for an error that Node's HTTP client throws. Drops the error itself, because it may hold the address.
 * @param began whether the request may have reached the service, even in part.
 * @param show makes the message safe to show.
 */
export function networkFailure(error: unknown, began: boolean, show: (text: string) => string): Failure {
  const { code, message } = describe(error);
  const isMisconfigured = code === PROXY_DENIED || CERTIFICATE_CODES.has(code);
  if (!began && isMisconfigured) return { kind: 'misconfigured', code, message: show(message) };
  const local = began ? undefined : localError(error);
  if (local !== undefined) return { kind: 'local', code, message: show(local.message), error: local };
  return { kind: began ? 'cut' : 'unsent', code, message: show(message) };
}

/** An error of this machine: of the system, or of the file to upload. */
function localError(error: unknown): FoliopipeError | undefined {
  return error instanceof FoliopipeError ? error : diskError(error, 'a connection to the service');
}

/** Describes an error by its cause, if it has one (errors of a proxy, or of one address among several). */
function describe(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'UNKNOWN', message: String(error) };
  if (error.cause instanceof Error) return describe(error.cause);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { code, message: tlsText(error.message) ?? (error.message || code) };
}

/** The beginning of messages that are about the proxy, not the service. */
export const BY_PROXY = 'the proxy: ';

/** The code of the error when a proxy answers 407: it does not accept the user or the password. */
export const PROXY_DENIED = 'PROXY_DENIED';

/** What OpenSSL says when the other side does not speak TLS. */
const NO_TLS = /wrong version number|http request|https proxy request|packet length too long|record layer/i;

/** @returns OpenSSL's line in words, without its numbers, function and file; undefined for any other message. */
function tlsText(message: string): string | undefined {
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1];
  if (reason === undefined) return undefined;
  const where = message.startsWith(BY_PROXY) ? BY_PROXY : '';
  return NO_TLS.test(reason)
    ? `${where}no TLS is spoken there; is it an http:// address?`
    : `${where}the TLS handshake failed: ${reason}`;
}

/** Codes of OpenSSL and Node for a certificate that does not verify. */
const CERTIFICATE_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
