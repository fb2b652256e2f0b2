/** The proxies that the environment names, upper or lower case. */
import type { RunOptions } from '../../pipelines/index.js';

export function environmentProxies(
  env: Readonly<Record<string, string | undefined>>,
): NonNullable<RunOptions['proxies']> {
  const named = (name: string) => env[name] || env[name.toLowerCase()] || undefined;
  const httpsProxy = named('HTTPS_PROXY');
  const httpProxy = named('HTTP_PROXY');
  const noProxy = named('NO_PROXY');
  return { ...(httpsProxy && { httpsProxy }), ...(httpProxy && { httpProxy }), ...(noProxy && { noProxy }) };
}
