/** The HTTP client: which connection a request goes over. A paid POST never goes over a used one. */
import type { Dispatcher } from 'undici';
import type { Milliseconds } from '../types.js';
import { openDispatcher, type Proxies } from './dispatcher.js';
import { type HttpReply, type HttpRequest, sendRequest } from './send-request.js';
import { isLoopback } from './service-address.js';

export interface HttpClientOptions {
  readonly connectTimeout: Milliseconds;
  readonly idleTimeout: Milliseconds;
  readonly proxies: Proxies;
  /** Makes messages fit to be shown. */
  readonly show: (text: string) => string;
}

export interface HttpClient {
  /** @throws AttemptError when no reply came. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpReply>;
  close(): Promise<void>;
}

/** @throws ConfigError when a proxy's address is none. */
export function openHttpClient(options: HttpClientOptions): HttpClient {
  const open = (keepAlive: boolean, proxies: Proxies | undefined): Dispatcher =>
    openDispatcher({ ...options, keepAlive, proxies });
  // A socket that the service closes while we write on it would make an upload ambiguous for nothing.
  const near = { GET: open(true, undefined), POST: open(false, undefined) };
  const far = { GET: open(true, options.proxies), POST: open(false, options.proxies) };
  return {
    send: (request, signal) => {
      const dispatchers = isLoopback(request.url) ? near : far;
      return sendRequest(dispatchers[request.method], request, signal, options.show);
    },
    close: async () => {
      await Promise.all([near.GET, near.POST, far.GET, far.POST].map((dispatcher) => dispatcher.destroy()));
    },
  };
}
