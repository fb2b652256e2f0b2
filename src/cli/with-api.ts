/** The client of the config's service, for commands that ask it without a run; closed whatever happens. */
import { type Config, type Logger, openApi, type PredictionApi } from '../../pipelines/index.js';
import { openEmbeddedService } from './embedded-service.js';
import { environmentProxies } from './proxies.js';
import { listenForStop } from './stop-signals.js';

/** @param use gets a signal that the first SIGINT, SIGTERM or SIGHUP aborts. */
export async function withApi<T>(
  config: Config,
  logger: Logger,
  use: (api: PredictionApi, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = listenForStop(() => undefined);
  try {
    const service = await openEmbeddedService(config);
    try {
      const proxies = environmentProxies(process.env);
      const api = openApi(config, { logger, proxies, ...(service && { endpoint: service.endpoint }) });
      try {
        return await use(api, stop.signal);
      } finally {
        await api.close();
      }
    } finally {
      await service?.close();
    }
  } finally {
    stop.close();
  }
}
