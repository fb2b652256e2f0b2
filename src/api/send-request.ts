/** One HTTP request and its reply, by Node's client; every trouble of the network comes out as an `AttemptError`. */
import http, { type Agent, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { pipeline, Readable } from 'node:stream';
import type { FormDataEncoder } from 'form-data-encoder';
import type { Milliseconds } from '../types.js';
import { AttemptError } from './failure.js';
import { networkFailure } from './network-failure.js';
import { WaitLimit } from './wait-limit.js';

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
    if (typeof body === 'object') pipeline(Readable.from(body), request, () => undefined);
    else request.end(body);
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
