/** The addresses of the four operations. Plain http:// leads to this machine only (law 10). */
import { isIPv4 } from 'node:net';
import { ConfigError } from '../errors/index.js';
import type { Operation } from './failure.js';

/** Paths of the interface, section 4. */
const PATHS: Readonly<Record<Operation, string>> = {
  upload: 'naics/naics/external/upload',
  track: 'naics/naics/external/upload/file/info',
  download: 'naics/naics/external/upload/file/download',
  search: 'naics/naics/search/additional/',
};

/**
 * @param baseUrl may end with a path and a slash.
 * @param key the config key that `baseUrl` comes from, for the error.
 * @throws ConfigError when it is no plain http(s) address, or http:// to another machine.
 */
export function createServiceAddress(baseUrl: string, key: string): (operation: Operation) => URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isPlain =
    base && base.username === '' && base.password === '' && base.search === '' && base.hash === '';
  if (!isPlain || !/^https?:$/.test(base.protocol)) {
    throw new ConfigError('CONFIG_BASE_URL', `${key} is no plain https:// address`, {
      hint: `write ${key} without user, password, ? and #: the token has a key of its own`,
    });
  }
  if (base.protocol === 'http:' && !isLoopback(base)) {
    throw new ConfigError('CONFIG_INSECURE_URL', `${key} would send the token unencrypted to ${base.host}`, {
      hint: 'use https://; http:// is for localhost only',
      facts: { key, host: base.host },
    });
  }
  return (operation) => new URL(`${base.href.replace(/\/+$/, '')}/${PATHS[operation]}`);
}

/** Whether an address leads to this machine and nowhere else. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}
