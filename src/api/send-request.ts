/** Sends one HTTP request with Node's client. Throws every network error as an `AttemptError`. */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { FormDataEncoder } from 'form-data-encoder';
import { http } from '../node-http.js';
import type { Milliseconds } from '../types.js';
import { AttemptError, networkFailure } from './failure.js';
import { nothingCame, readBody } from './read-body.js';
import { type AwakeClock, Timeout } from './timeout.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Appended to the address, which then has no query of its own. */
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Each send reads a form from its beginning. */
  readonly body?: FormDataEncoder | string;
  /** Longest time from the beginning of the request until the reply's headers have arrived. Without it, no limit. */
  readonly headersTimeout?: Milliseconds;
}

export interface HttpReply {
  readonly status: number;
  /** The first value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  /** As `readBody` returns it. The caller must read it to its end or call `discard`. */
  readonly body: AsyncIterable<Buffer>;
  /** Closes the connection without reading the rest of the body. */
  discard(): void;
}

/** Called before a request is written, with its connection open. It is written when the promise resolves. */
export type OnBegin = () => Promise<void>;

export interface Connection {
  readonly agent: Agent;
  /** Longest time until a connection is open, including TLS and a proxy's tunnel. */
  readonly connectTimeout: Milliseconds;
  /** Longest time without a byte of a reply's body, and the period in which the least rate of a reply is measured. */
  readonly idleTimeout: Milliseconds;
  readonly clock: AwakeClock;
  /** Makes messages safe to show. */
  readonly show: (text: string) => string;
}

/**
 * Sends a request and waits for the reply's headers. Does not follow redirects; any status is a reply.
 * @param onBegin called when the connection is open. If it throws, the request is not written.
 * @throws AttemptError when no reply came, also after an abort: the caller must know whether the request began.
 */
export async function sendRequest(
  connection: Connection,
  sent: HttpRequest,
  signal: AbortSignal,
  onBegin?: OnBegin,
): Promise<HttpReply> {
  const { show } = connection;
  let began = false;
  try {
    const reply = await receiveReply(connection, sent, signal, onBegin, () => {
      began = true;
    });
    // Avoids an uncaught exception when the body is destroyed while it is not being read.
    reply.on('error', () => undefined);
    const status = reply.statusCode!;
    // The successful reply to a paid request may take as long as bytes arrive: giving up would make the request
    // ambiguous.
    const isPatient = sent.method === 'POST' && isSuccess(status);
    return {
      status,
      header: (name) => headerOf(reply, name),
      body: readBody(reply, connection, signal, headerOf(reply, 'content-encoding'), isPatient),
      discard: () => void reply.destroy(),
    };
  } catch (error) {
    throw new AttemptError(networkFailure(error, began, show));
  }
}

/** Reads the raw headers: Node's `headers` would collect all of them, and most callers want one. */
function headerOf({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at === -1 ? undefined : rawHeaders[at + 1];
}

/** @param onWrite called when the request is being written: from then on it may reach the service. */
async function receiveReply(
  { agent, connectTimeout, clock }: Connection,
  { method, url, query, headers, body, headersTimeout }: HttpRequest,
  signal: AbortSignal,
  onBegin: OnBegin | undefined,
  onWrite: () => void,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  // A file that cannot be read ends the request before it begins.
  const content = typeof body === 'object' ? await beginContent(body) : undefined;
  const rest = Buffer.isBuffer(content) ? undefined : content;
  if (signal.aborted) await rest?.return?.();
  signal.throwIfAborted();
  const isSecure = url.protocol === 'https:';
  const target = targetOf(url);
  const path = query === undefined ? target.path : `${target.path}?${query}`;
  const request = (isSecure ? https : http).request({ ...target, path, method, headers, agent });
  const timeout = new Timeout(clock);
  let isWritten = false;
  let onAbort: () => void;
  return new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    // Node closes a connection without an error if the service wants to go on in another protocol (101).
    request.once('close', () => reject(closedEarly()));
    const fail = (error: Error): void => {
      request.destroy(error);
      // A request that is destroyed before it has a connection emits no error.
      reject(error);
    };
    onAbort = () => fail(signal.reason);
    signal.addEventListener('abort', onAbort);
    timeout.begin(connectTimeout, () => fail(nothingCame('CONNECT_TIMEOUT', connectTimeout)));
    const write = (): void => {
      if (request.destroyed) return;
      isWritten = true;
      onWrite();
      if (headersTimeout !== undefined) {
        timeout.begin(headersTimeout, () => fail(nothingCame('HEADERS_TIMEOUT', headersTimeout)));
      }
      if (rest === undefined) return void request.end(Buffer.isBuffer(content) ? content : body);
      // Sends the headers at once: the limiter allows the request now, and the content takes a moment to begin.
      request.flushHeaders();
      writePieces(request, rest).catch(fail);
    };
    request.once('socket', (socket) => {
      if (rest !== undefined) readBeforeError(socket);
      const begin = (): void => {
        timeout.end();
        if (onBegin === undefined) write();
        else onBegin().then(write, fail);
      };
      // Node flushes a request after this event. A request that is ended before that would be finished twice.
      if (request.reusedSocket) queueMicrotask(begin);
      else socket.once(isSecure ? 'secureConnect' : 'connect', begin);
    });
  }).finally(() => {
    if (!isWritten) void rest?.return?.();
    timeout.end();
    signal.removeEventListener('abort', onAbort);
  });
}

function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed without a reply'), { code: 'ECONNRESET' });
}

const targets = new WeakMap<URL, RequestOptions>();

/**
 * An address in the form that Node's client takes. Parsing it is a large part of a small request's cost, and most
 * requests have the same few addresses.
 */
function targetOf(url: URL): RequestOptions {
  const known = targets.get(url);
  if (known !== undefined) return known;
  const { protocol, hostname, port, path, auth } = urlToHttpOptions(url);
  const target = { protocol, hostname, port, path, auth };
  targets.set(url, target);
  return target;
}

/**
 * Delays a write error until the bytes that have already arrived are read. A service may refuse an upload and close the
 * connection before it has read all of it. Its reply then arrives before the error.
 */
function readBeforeError(socket: Socket): void {
  const write = socket._write.bind(socket);
  const writeMany = socket._writev!.bind(socket);
  const later =
    (done: (error?: Error | null) => void) =>
    (error?: Error | null): void => {
      // This turn of the event loop may have read before the error.
      if (error) setImmediate(() => setImmediate(done, error));
      else done();
    };
  socket._write = (chunk, encoding, done) => write(chunk, encoding, later(done));
  socket._writev = (chunks, done) => writeMany(chunks, later(done));
}

/** Whether a reply with this status is no error and no redirect. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** How much of a content is read before its request begins. */
const FIRST_BYTES = 64 * 1024;

/**
 * Reads the beginning of a content. Throws what reading it throws.
 * @returns all of it if it is short, to be sent in one piece; otherwise an iterator over all of it.
 */
async function beginContent(body: FormDataEncoder): Promise<Buffer | AsyncIterator<Uint8Array>> {
  const pieces: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  for (let bytes = 0; bytes < FIRST_BYTES; ) {
    const { done, value } = await pieces.next();
    if (done) return Buffer.concat(first);
    first.push(Buffer.from(value));
    bytes += value.length;
  }
  return {
    next: async () => (first.length > 0 ? { value: first.shift()! } : pieces.next()),
    return: async () => (await pieces.return?.()) ?? { done: true, value: undefined },
  };
}

/**
 * Writes a content, each piece after the one before was sent, and ends the request. After a reply whose status is not a
 * success, the rest is not sent.
 * @throws what reading the content throws. A failed request reports its own error.
 */
async function writePieces(request: ClientRequest, pieces: AsyncIterator<Uint8Array>): Promise<void> {
  request.once('response', (reply) => {
    if (!isSuccess(reply.statusCode!)) reply.once('close', () => request.destroy());
  });
  for await (const piece of { [Symbol.asyncIterator]: () => pieces }) {
    if (!(await isSent(request, piece))) return;
  }
  request.end();
}

/** Writes a piece. @returns false if the request has failed or ended before the piece was sent. */
function isSent(request: ClientRequest, piece: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = (): void => resolve(false);
    request.once('close', onClose);
    request.write(piece, (error) => {
      request.off('close', onClose);
      resolve(!error && !request.destroyed);
    });
  });
}
