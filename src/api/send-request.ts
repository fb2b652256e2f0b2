/** One HTTP request and its reply, by Node's client; every trouble of the network comes out as an `AttemptError`. */
import type { Agent, IncomingMessage } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import { pipeline, Readable } from 'node:stream';
import type { FormDataEncoder } from 'form-data-encoder';
import type { Milliseconds } from '../types.js';
import { AttemptError, type Failure } from './failure.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** A form is read anew each time that the request is sent. */
  readonly body?: FormDataEncoder | string;
  /** Longest time from the begin of the request until the reply's headers are here. */
  readonly headersTimeout: Milliseconds;
}

export interface HttpReply {
  readonly status: number;
  /** The first value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  /** Throws `AttemptError` when it is cut. To be read to its end or left by `discard`. */
  readonly body: AsyncIterable<Buffer>;
  /** Closes the connection of a body that nobody reads on. */
  discard(): void;
}

export interface Connection {
  readonly agent: Agent;
  readonly connectTimeout: Milliseconds;
  readonly idleTimeout: Milliseconds;
  /** Makes messages fit to be shown. */
  readonly show: (text: string) => string;
}

/**
 * Sends a request; redirects are not followed, and any status is a reply.
 * @throws AttemptError when no reply came, also when the signal aborted: whether the request began is what
 * its caller must know first.
 */
export async function sendRequest(
  connection: Connection,
  sent: HttpRequest,
  signal: AbortSignal,
): Promise<HttpReply> {
  const { show, idleTimeout } = connection;
  let began = false;
  try {
    const reply = await receiveReply(connection, sent, signal, () => {
      began = true;
    });
    // A body that is given up ends with an error that nobody waits for.
    reply.on('error', () => undefined);
    return {
      status: reply.statusCode!,
      header: (name) => [reply.headers[name]].flat()[0],
      body: readBody(reply, idleTimeout, signal, show),
      discard: () => void reply.destroy(),
    };
  } catch (error) {
    throw new AttemptError(networkFailure(error, began, show));
  }
}

/** @param onBegin is called when the connection stands: from then on the request may reach the service. */
async function receiveReply(
  { agent, connectTimeout }: Connection,
  { method, url, headers, body, headersTimeout }: HttpRequest,
  signal: AbortSignal,
  onBegin: () => void,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? https : http).request(url, { method, headers, agent });
  const limit = new WaitLimit();
  let onAbort: () => void;
  return new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    // A request that has no connection yet does not say that it was destroyed.
    const giveUp = (error: Error): void => {
      request.destroy(error);
      reject(error);
    };
    onAbort = () => giveUp(signal.reason);
    signal.addEventListener('abort', onAbort);
    limit.begin('CONNECT_TIMEOUT', connectTimeout, giveUp);
    request.once('socket', (socket) => {
      const begin = (): void => {
        onBegin();
        limit.begin('HEADERS_TIMEOUT', headersTimeout, giveUp);
      };
      if (request.reusedSocket) begin();
      else socket.once(isSecure ? 'secureConnect' : 'connect', begin);
    });
    if (typeof body === 'object') {
      // Listened to before the pipeline does: a request that it destroys only says "socket hang up".
      const content = Readable.from(body).once('error', reject);
      pipeline(content, request, () => undefined);
    } else {
      request.end(body);
    }
  }).finally(() => {
    limit.end();
    signal.removeEventListener('abort', onAbort);
  });
}

async function* readBody(
  reply: IncomingMessage,
  idleTimeout: Milliseconds,
  signal: AbortSignal,
  show: (text: string) => string,
): AsyncGenerator<Buffer> {
  const limit = new WaitLimit();
  const onAbort = () => reply.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  limit.begin('BODY_TIMEOUT', idleTimeout, (error) => reply.destroy(error));
  try {
    for await (const piece of reply as AsyncIterable<Buffer>) {
      limit.pause();
      yield piece;
      limit.resume();
    }
  } catch (error) {
    throw new AttemptError(networkFailure(error, true, show));
  } finally {
    limit.end();
    signal.removeEventListener('abort', onAbort);
  }
}

// Turns what the HTTP library throws into a failure; its own error may hold the address, so it is not kept.

/** How OpenSSL and Node name a certificate that does not verify. */
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

/**
 * @param began whether the request may have reached the service, be it in part.
 * @param show makes the message fit to be shown.
 */
function networkFailure(error: unknown, began: boolean, show: (text: string) => string): Failure {
  const { code, message } = describe(error);
  if (!began && CERTIFICATE_CODES.has(code)) return { kind: 'certificate', code, message: show(message) };
  return { kind: began ? 'cut' : 'unsent', code, message: show(message) };
}

/** An error around another one (a proxy's, or one a tried address) is told by what is inside where it has no code. */
function describe(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'UNKNOWN', message: String(error) };
  if (error.cause instanceof Error) return describe(error.cause);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { code, message: error.message || code };
}

// Ends what keeps us waiting for too long: a connection, the head of a reply, or a piece of its body.

/** Named in errors and logs. */
export type Phase = 'CONNECT_TIMEOUT' | 'HEADERS_TIMEOUT' | 'BODY_TIMEOUT';

export class WaitLimit {
  #timer: NodeJS.Timeout | undefined;
  #isPaused = false;

  /** Begins the wait of a phase, in place of the one before. */
  begin(phase: Phase, time: Milliseconds, giveUp: (error: Error) => void): void {
    this.end();
    this.#timer = setTimeout(() => {
      if (this.#isPaused) this.#timer?.refresh();
      else giveUp(Object.assign(new Error(`nothing came for ${time} ms`), { code: phase }));
    }, time);
  }

  /** Nobody waits now. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Waits again, from now on. */
  resume(): void {
    this.#isPaused = false;
    this.#timer?.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
