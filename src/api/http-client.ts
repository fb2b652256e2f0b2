/** The HTTP client: which connection a request goes over. A paid POST never goes over a used one. */
import type { Agent } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { HttpsProxyAgent } from 'hpagent';
import { ConfigError } from '../errors.js';
import type { Milliseconds } from '../types.js';
import { isLoopback } from './requests.js';
import { type HttpReply, type HttpRequest, sendRequest } from './send-request.js';

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

/** The connections under the HTTP client: direct, or through a proxy's tunnel. */
export interface AgentOptions {
  readonly protocol: string;
  /** False: each request has a connection of its own, so that no closing one can make it ambiguous. */
  readonly keepAlive: boolean;
  /** For https:// only. */
  readonly proxy: URL | undefined;
  readonly connectTimeout: Milliseconds;
}

function openAgent({ protocol, keepAlive, proxy, connectTimeout }: AgentOptions): http.Agent {
  if (protocol !== 'https:') return new http.Agent({ keepAlive });
  if (proxy === undefined) return new https.Agent({ keepAlive });
  return new TunnelAgent({ keepAlive, proxy, timeout: connectTimeout });
}

type Connected = (error: NodeJS.ErrnoException | null, socket: Duplex) => void;

/** What a proxy does wrong has no code of its own. */
class TunnelAgent extends HttpsProxyAgent {
  override createConnection(
    options: http.ClientRequestArgs,
    connected: Connected,
  ): Duplex | null | undefined {
    return super.createConnection(options, (error: NodeJS.ErrnoException | null, socket: Duplex) => {
      if (error === null) return connected(error, socket);
      const message = `the proxy: ${error.message}`;
      connected(Object.assign(new Error(message), { code: error.code ?? 'PROXY_FAILED' }), socket);
    });
  }
}

// Which proxy an address is reached through, as the variables of the environment say by custom.

/** Values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY, read by whoever may read the environment. */
export interface Proxies {
  readonly httpsProxy?: string | undefined;
  readonly httpProxy?: string | undefined;
  /** Hosts and domains, each perhaps with a port, parted by commas or blanks; `*` names all. */
  readonly noProxy?: string | undefined;
}

/**
 * @returns the proxy for an https:// address; undefined where it is reached without one.
 * @throws ConfigError when the address of a proxy is none.
 */
export function createProxyChoice(proxies: Proxies): (url: URL) => URL | undefined {
  const [https, http] = [proxies.httpsProxy, proxies.httpProxy].map(proxyAddress);
  const proxy = https ?? http;
  const exempt = (proxies.noProxy ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  return (url) => (exempt.some((entry) => isNamed(url, entry)) ? undefined : proxy);
}

/** An address without a scheme is taken for http://, as other programs do. */
function proxyAddress(value: string | undefined): URL | undefined {
  if (!value) return undefined;
  const address = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError('CONFIG_PROXY', 'the address of the proxy in HTTPS_PROXY or HTTP_PROXY is none', {
      hint: 'write it as http://host:port',
    });
  }
  return url;
}

/** A domain stands for itself and all below it, with or without a dot or `*.` before it. */
function isNamed(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const [, domain, port] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry)!;
  if (port !== undefined && port !== (url.port || '443')) return false;
  return url.hostname === domain || url.hostname.endsWith(`.${domain}`);
}
