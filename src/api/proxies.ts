/** Which proxy an address is reached through, as the variables of the environment say by custom. */
import { ConfigError } from '../errors/index.js';

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
