/** What commands use to reach the service: the proxies of the environment, and the embedded local service. */
import { type Config, embeddedServiceFolder, type RunOptions } from '../../pipelines/index.js';
import type { Service, ServiceOptions } from '../service/open-service.js';
import { withStopSignal } from './stop-signals.js';

/**
 * Opens the embedded service if the config has one, for a command without a run. Closes it afterwards.
 * @param use gets a signal that aborts at the first SIGINT, SIGTERM or SIGHUP.
 */
export async function withEndpoint<T>(
  config: Config,
  use: (options: Pick<RunOptions, 'endpoint' | 'proxies' | 'signal'>) => Promise<T>,
  behaviour?: EmbeddedBehaviour,
): Promise<T> {
  return withStopSignal(async (signal) => {
    const endpoint = await openEmbeddedService(config, behaviour);
    try {
      return await use({ endpoint, proxies: environmentProxies(process.env), signal });
    } finally {
      await endpoint?.close();
    }
  });
}

/** Changes to the embedded service's defaults: another speed, time scale or predictor, or faults. */
export type EmbeddedBehaviour = Partial<
  Pick<ServiceOptions, 'predictor' | 'recordsPerSecond' | 'timeScale' | 'faults' | 'dataDir'>
>;

/**
 * Starts the local service in this process on a free loopback port, with its folios under the state folder and a
 * random token.
 * @returns undefined unless the config has `service.embedded`.
 */
export async function openEmbeddedService(
  config: Config,
  behaviour: EmbeddedBehaviour = {},
): Promise<Service | undefined> {
  if (!config.service.embedded) return undefined;
  // Loaded only if needed: a client of the real service uses neither fastify nor the predictors.
  const { openService } = await import('../service/open-service.js');
  return openService({ dataDir: embeddedServiceFolder(config), ...behaviour });
}

/** The proxies of the environment. The variables may be in upper or lower case. */
export function environmentProxies(
  env: Readonly<Record<string, string | undefined>>,
): NonNullable<RunOptions['proxies']> {
  const named = (name: string) => env[name] || env[name.toLowerCase()] || undefined;
  return { httpsProxy: named('HTTPS_PROXY'), httpProxy: named('HTTP_PROXY'), noProxy: named('NO_PROXY') };
}
