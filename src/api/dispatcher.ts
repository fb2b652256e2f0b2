/** The connections under the HTTP client: direct, or through the proxies of the environment. */
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { ConfigError } from '../errors/index.js';
import type { Milliseconds } from '../types.js';

/** Values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY, read by whoever may read the environment. */
export interface Proxies {
  readonly httpsProxy?: string | undefined;
  readonly httpProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

export interface DispatcherOptions {
  readonly connectTimeout: Milliseconds;
  /** Longest time without a byte of a reply's body. */
  readonly idleTimeout: Milliseconds;
  /** False: each request has a connection of its own, so that no closing one can make it ambiguous. */
  readonly keepAlive: boolean;
  /** Undefined where none may be used: loopback is never reached through a proxy. */
  readonly proxies: Proxies | undefined;
}

/** @throws ConfigError when a proxy's address is none. */
export function openDispatcher(options: DispatcherOptions): Dispatcher {
  const connect = { timeout: options.connectTimeout };
  const agentOptions: Agent.Options = {
    connect,
    bodyTimeout: options.idleTimeout,
    pipelining: options.keepAlive ? 1 : 0,
  };
  if (options.proxies === undefined) return new Agent(agentOptions);
  return new EnvHttpProxyAgent({
    ...agentOptions,
    // Never undefined: undici would read the environment itself.
    httpsProxy: proxyAddress(options.proxies.httpsProxy),
    httpProxy: proxyAddress(options.proxies.httpProxy),
    noProxy: options.proxies.noProxy ?? '',
    proxyTls: connect,
    requestTls: connect,
    clientFactory: (proxy, poolOptions) =>
      new Pool(proxy, { ...poolOptions, headersTimeout: options.connectTimeout }),
    factory: (origin, poolOptions) => new Pool(origin, withFailingConnect(poolOptions)),
  });
}

/** The address without a scheme is taken for http://, as other programs do. Empty: no proxy. */
function proxyAddress(value: string | undefined): string {
  const address = !value || value.includes('://') ? (value ?? '') : `http://${value}`;
  if (address !== '' && !URL.canParse(address)) {
    throw new ConfigError('CONFIG_PROXY', 'the address of the proxy in HTTPS_PROXY or HTTP_PROXY is none', {
      hint: 'write it as http://host:port',
    });
  }
  return address;
}

/**
 * A proxy that cuts our CONNECT gives an error which undici takes for a cut of an idle connection: it would
 * connect again at once, without end. Under another code it fails the request, and our back-off decides.
 */
function withFailingConnect(options: Pool.Options): Pool.Options {
  const { connect } = options;
  if (typeof connect !== 'function') return options;
  const failing: buildConnector.connector = (target, callback) => {
    const settle = (error: Error | null, socket: Parameters<buildConnector.Callback>[1]): void => {
      if (error === null) callback(...([null, socket] as Parameters<buildConnector.Callback>));
      else callback(isTakenForIdle(error) ? proxyCut(error) : error, null);
    };
    connect(target, settle as buildConnector.Callback);
  };
  return { ...options, connect: failing };
}

function isTakenForIdle(error: Error): boolean {
  return 'code' in error && (error.code === 'UND_ERR_SOCKET' || error.code === 'UND_ERR_INFO');
}

function proxyCut(error: Error): Error {
  return Object.assign(new Error(`the proxy cut the connection: ${error.message}`), { code: 'PROXY_CUT' });
}
