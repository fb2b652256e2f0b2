/** The HTTP client: which connection a request goes over. A paid POST never goes over a used one. */
import type { Agent } from 'node:http';
import type { Milliseconds } from '../types.js';
import { openAgent } from './agent.js';
import { createProxyChoice, type Proxies } from './proxies.js';
import { type HttpReply, type HttpRequest, sendRequest } from './send-request.js';
import { isLoopback } from './service-address.js';

export interface HttpClientOptions {
  /** Until a connection stands, TLS and a proxy's tunnel included. */
  readonly connectTimeout: Milliseconds;
  /** Longest time without a byte of a reply's body. */
  readonly idleTimeout: Milliseconds;
  readonly proxies: Proxies;
  /** Makes messages fit to be shown. */
  readonly show: (text: string) => string;
}

export interface HttpClient {
  /** @throws AttemptError when no reply came. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpReply>;
  close(): void;
}

/** @throws ConfigError when a proxy's address is none. */
export function openHttpClient(options: HttpClientOptions): HttpClient {
  const chooseProxy = createProxyChoice(options.proxies);
  const agents = new Map<string, Agent>();
  const agentOf = ({ method, url }: HttpRequest): Agent => {
    const key = `${method} ${url.origin}`;
    const agent =
      agents.get(key) ??
      openAgent({
        protocol: url.protocol,
        // A socket that the service closes while we write on it would make an upload ambiguous for nothing.
        keepAlive: method === 'GET',
        proxy: isLoopback(url) ? undefined : chooseProxy(url),
        connectTimeout: options.connectTimeout,
      });
    agents.set(key, agent);
    return agent;
  };
  return {
    send: (request, signal) => sendRequest({ ...options, agent: agentOf(request) }, request, signal),
    close: () => {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}
