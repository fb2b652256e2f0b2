/** Opens the API client for commands without a run, and the embedded local service. */
import {
  type Config,
  embeddedServiceFolder,
  type Logger,
  openApi,
  type PredictionApi,
  type RunOptions,
} from '../../pipelines/index.js';
import type { Service, ServiceOptions } from '../service/open-service.js';
import { untilStopped } from './stop-signals.js';

/**
 * Opens the client, and the embedded service if the config has one. Closes both afterwards.
 * @param use gets a signal that aborts at the first SIGINT, SIGTERM or SIGHUP.
 */
export async function withApi<T>(
  config: Config,
  logger: Logger,
  use: (api: PredictionApi, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return untilStopped(async (signal) => {
    const service = await openEmbeddedService(config);
    try {
      const proxies = environmentProxies(process.env);
      const api = openApi(config, { logger, proxies, ...(service && { endpoint: service }) });
      try {
        return await use(api, signal);
      } finally {
        await api.close();
      }
    } finally {
      await service?.close();
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
  const httpsProxy = named('HTTPS_PROXY');
  const httpProxy = named('HTTP_PROXY');
  const noProxy = named('NO_PROXY');
  return { ...(httpsProxy && { httpsProxy }), ...(httpProxy && { httpProxy }), ...(noProxy && { noProxy }) };
}
