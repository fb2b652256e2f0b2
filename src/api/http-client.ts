/**
 * The HTTP client: chooses the connection of each request, direct or through a proxy. Invariant: each POST has its own
 * connection.
 */
import type { Agent, ClientRequestArgs } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { HttpsProxyAgent } from 'hpagent';
import { ConfigError } from '../errors.js';
import { isLoopback } from '../loopback.js';
import { http } from '../node-http.js';
import type { Milliseconds } from '../types.js';
import { BY_PROXY, PROXY_DENIED } from './failure.js';
import {
  type Connection,
  type HttpReply,
  type HttpRequest,
  type OnBegin,
  sendRequest,
} from './send-request.js';

interface HttpClientOptions extends Omit<Connection, 'agent'> {
  readonly proxies: Proxies;
}

export interface HttpClient {
  /**
   * @param onBegin called when the connection is open; the request is written when its promise has resolved.
   * @throws AttemptError when no reply came.
   */
  send(request: HttpRequest, signal: AbortSignal, onBegin?: OnBegin): Promise<HttpReply>;
  close(): void;
}

/** @throws ConfigError when a proxy's address is not valid. */
export function openHttpClient(options: HttpClientOptions): HttpClient {
  const chooseProxy = createProxyChoice(options.proxies);
  const connections = new Map<string, Connection>();
  const connectionOf = ({ method, url }: HttpRequest): Connection => {
    const key = `${method} ${url.origin}`;
    const known = connections.get(key);
    if (known !== undefined) return known;
    const agent = createAgent({
      protocol: url.protocol,
      // A kept connection may close while we write to it, which would make an upload ambiguous.
      keepAlive: method === 'GET',
      proxy: isLoopback(url) ? undefined : chooseProxy(url),
      connectTimeout: options.connectTimeout,
    });
    const connection = { ...options, agent };
    connections.set(key, connection);
    return connection;
  };
  return {
    send: (request, signal, onBegin) => sendRequest(connectionOf(request), request, signal, onBegin),
    close: () => {
      for (const { agent } of connections.values()) agent.destroy();
    },
  };
}

interface AgentOptions {
  readonly protocol: string;
  readonly keepAlive: boolean;
  /** Only https:// uses it. */
  readonly proxy: URL | undefined;
  readonly connectTimeout: Milliseconds;
}

function createAgent({ protocol, keepAlive, proxy, connectTimeout }: AgentOptions): Agent {
  if (protocol !== 'https:') return new http.Agent({ keepAlive });
  if (proxy === undefined) return new https.Agent({ keepAlive });
  // The time-out of the request comes first. This one closes a tunnel that no request waits for any more.
  return new TunnelAgent({ keepAlive, proxy: dialled(proxy), timeout: connectTimeout + 1000 });
}

/** The address with a host that can be looked up: only a URL puts an IPv6 address in brackets. */
function dialled(proxy: URL): URL {
  const { protocol, hostname, port, username, password } = proxy;
  if (!hostname.startsWith('[')) return proxy;
  return { protocol, hostname: hostname.slice(1, -1), port, username, password } as URL;
}

type Connected = (error: NodeJS.ErrnoException | null, socket: Duplex) => void;

/** Marks the proxy's errors as such, and adds a code where they have none. */
class TunnelAgent extends HttpsProxyAgent {
  override createConnection(options: ClientRequestArgs, connected: Connected): Duplex | null | undefined {
    return super.createConnection(options, (error: NodeJS.ErrnoException | null, socket: Duplex) => {
      if (error === null) return connected(error, socket);
      const status = /^Bad response: (\d+)$/.exec(error.message)?.[1];
      const message = status === undefined ? `${BY_PROXY}${error.message}` : refusalText(status);
      // Not tried again: a wrong password that is repeated for hours would lock its user out.
      const code = status === '407' ? PROXY_DENIED : (error.code ?? 'PROXY_FAILED');
      connected(Object.assign(new Error(message), { code }), socket);
    });
  }
}

function refusalText(status: string): string {
  const why = status === '407' ? ', so it does not know the user and password in HTTPS_PROXY' : '';
  return `the proxy answers ${status}${why}`;
}

/** Values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY; the caller reads the environment. */
export interface Proxies {
  readonly httpsProxy?: string | undefined;
  readonly httpProxy?: string | undefined;
  /** Hosts and domains, with or without a port, separated by commas or spaces; `*` matches all. */
  readonly noProxy?: string | undefined;
}

/**
 * @returns a function that returns the proxy of an https:// address, or undefined for a direct connection.
 * @throws ConfigError when a proxy's address is not valid.
 */
export function createProxyChoice(proxies: Proxies): (url: URL) => URL | undefined {
  const [https, http] = [proxies.httpsProxy, proxies.httpProxy].map(proxyAddress);
  const proxy = https ?? http;
  const exempt = (proxies.noProxy ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  return (url) => (exempt.some((entry) => matches(url, entry)) ? undefined : proxy);
}

/** An address without a scheme means http://, as in other programs. */
function proxyAddress(value: string | undefined): URL | undefined {
  if (!value) return undefined;
  const address = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || !isEncoded(url.username + url.password)) {
    throw new ConfigError('CONFIG_PROXY', 'the proxy in HTTPS_PROXY or HTTP_PROXY is not a valid address', {
      hint: 'write it as http://host:port or http://user:password@host:port, in which % is %25, @ is %40 and / is %2F',
    });
  }
  return url;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** A domain matches itself and everything below it, with or without a dot or `*.` before it. */
function matches(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const [, domain, port] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry)!;
  if (port !== undefined && port !== (url.port || '443')) return false;
  return url.hostname === domain || url.hostname.endsWith(`.${domain}`);
}
