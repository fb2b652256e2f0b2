/** One HTTP request and its reply, by undici; every trouble of the network comes out as an `AttemptError`. */
import { type Dispatcher, type FormData, request } from 'undici';
import type { Milliseconds } from '../types.js';
import { AttemptError } from './failure.js';
import { networkFailure } from './network-failure.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: FormData | string;
  /** Longest time without a byte until the reply's headers are here. */
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

/**
 * Sends a request; redirects are not followed, and any status is a reply.
 * @param show makes messages fit to be shown.
 * @throws AttemptError when no reply came, also when the signal aborted: whether the request began is what
 * its caller must know first.
 */
export async function sendRequest(
  dispatcher: Dispatcher,
  sent: HttpRequest,
  signal: AbortSignal,
  show: (text: string) => string,
): Promise<HttpReply> {
  let began = false;
  const watched = dispatcher.compose((dispatch) => (options, handler) => {
    const onRequestStart: Dispatcher.DispatchHandler['onRequestStart'] = (controller, context) => {
      began = true;
      handler.onRequestStart?.(controller, context);
    };
    return dispatch(options, {
      onRequestStart,
      onResponseStart: (...reply) => handler.onResponseStart?.(...reply),
      onResponseData: (...reply) => handler.onResponseData?.(...reply),
      onResponseEnd: (...reply) => handler.onResponseEnd?.(...reply),
      onResponseError: (...reply) => handler.onResponseError?.(...reply),
    });
  });
  const { url, ...options } = sent;
  try {
    const reply = await request(url, { ...options, dispatcher: watched, signal });
    // A body that is given up ends with an error that nobody waits for.
    reply.body.on('error', () => undefined);
    return {
      status: reply.statusCode,
      header: (name) => [reply.headers[name]].flat()[0],
      body: readBody(reply.body, show),
      discard: () => reply.body.destroy(),
    };
  } catch (error) {
    throw new AttemptError(networkFailure(error, began, show));
  }
}

async function* readBody(
  body: AsyncIterable<Buffer>,
  show: (text: string) => string,
): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw new AttemptError(networkFailure(error, true, show));
  }
}
