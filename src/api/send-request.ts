/** Sends one HTTP request with Node's client. Throws every network error as an `AttemptError`. */
import type { Agent, IncomingMessage } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import { pipeline, Readable } from 'node:stream';
import type { FormDataEncoder } from 'form-data-encoder';
import type { Milliseconds } from '../types.js';
import { AttemptError, networkFailure } from './failure.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Each send reads a form from its beginning. */
  readonly body?: FormDataEncoder | string;
  /** Longest time from the beginning of the request until the reply's headers have arrived. */
  readonly headersTimeout: Milliseconds;
}

export interface HttpReply {
  readonly status: number;
  /** The first value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  /** Throws `AttemptError` when it is cut. The caller must read it to its end or call `discard`. */
  readonly body: AsyncIterable<Buffer>;
  /** Closes the connection without reading the rest of the body. */
  discard(): void;
}

export interface Connection {
  readonly agent: Agent;
  readonly connectTimeout: Milliseconds;
  readonly idleTimeout: Milliseconds;
  /** Makes messages safe to show. */
  readonly show: (text: string) => string;
}

/**
 * Sends a request and waits for the reply's headers. Does not follow redirects; any status is a reply.
 * @throws AttemptError when no reply came, also after an abort: the caller must know whether the request began.
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
    // Avoids an uncaught exception when the body is destroyed while it is not being read.
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

/** @param onBegin called when the connection is open: from then on the request may reach the service. */
async function receiveReply(
  { agent, connectTimeout }: Connection,
  { method, url, headers, body, headersTimeout }: HttpRequest,
  signal: AbortSignal,
  onBegin: () => void,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? https : http).request(url, { method, headers, agent });
  const timeout = new PhaseTimeout();
  let onAbort: () => void;
  return new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    const fail = (error: Error): void => {
      request.destroy(error);
      // A request that is destroyed before it has a connection emits no error.
      reject(error);
    };
    onAbort = () => fail(signal.reason);
    signal.addEventListener('abort', onAbort);
    timeout.begin('CONNECT_TIMEOUT', connectTimeout, fail);
    request.once('socket', (socket) => {
      const begin = (): void => {
        onBegin();
        timeout.begin('HEADERS_TIMEOUT', headersTimeout, fail);
      };
      if (request.reusedSocket) begin();
      else socket.once(isSecure ? 'secureConnect' : 'connect', begin);
    });
    if (typeof body === 'object') {
      // Rejects before the pipeline destroys the request, because the request's error would only be "socket hang up".
      const content = Readable.from(body).once('error', reject);
      pipeline(content, request, () => undefined);
    } else {
      request.end(body);
    }
  }).finally(() => {
    timeout.end();
    signal.removeEventListener('abort', onAbort);
  });
}

async function* readBody(
  reply: IncomingMessage,
  idleTimeout: Milliseconds,
  signal: AbortSignal,
  show: (text: string) => string,
): AsyncGenerator<Buffer> {
  const timeout = new PhaseTimeout();
  const onAbort = () => reply.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  timeout.begin('BODY_TIMEOUT', idleTimeout, (error) => reply.destroy(error));
  try {
    for await (const piece of reply as AsyncIterable<Buffer>) {
      timeout.pause();
      yield piece;
      timeout.resume();
    }
  } catch (error) {
    throw new AttemptError(networkFailure(error, true, show));
  } finally {
    timeout.end();
    signal.removeEventListener('abort', onAbort);
  }
}

/** A phase of a request that may take too long. Errors and logs use its name. */
export type Phase = 'CONNECT_TIMEOUT' | 'HEADERS_TIMEOUT' | 'BODY_TIMEOUT';

/**
 * A timeout for one phase at a time. It can be paused, so that the time of the consumer does not count. Neither pausing
 * nor resuming creates a timer, so that reading a body needs no new timer for each piece.
 */
export class PhaseTimeout {
  #timer: NodeJS.Timeout | undefined;
  #isPaused = false;

  /** Starts the timeout of a phase and ends the timeout of the phase before it. */
  begin(phase: Phase, time: Milliseconds, onTimeout: (error: Error) => void): void {
    this.end();
    this.#timer = setTimeout(() => {
      if (this.#isPaused) this.#timer?.refresh();
      else onTimeout(Object.assign(new Error(`nothing came for ${time} ms`), { code: phase }));
    }, time);
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Starts the time again from zero. */
  resume(): void {
    this.#isPaused = false;
    this.#timer?.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
