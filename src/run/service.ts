/** The service that a config names: its identity and its client. */
import { openPredictionApi } from '../api/open-prediction-api.js';
import type { PredictionApi } from '../api/prediction-api.js';
import type { ApiWatcher } from '../api/retry-loop.js';
import type { Config } from '../config/schema.js';
import { serviceAddress } from '../config/service-section.js';
import { ConfigError } from '../errors.js';
import { silentLogger } from '../logger.js';
import type { RunOptions, ServiceEndpoint } from './run-options.js';

/**
 * The identity of a service, under which its runs, columns and answers are kept: `service.name`, or its address if it
 * has no name. The embedded service always has `embedded:` before it, so that it never shares a real one's identity.
 */
export function serviceIdentity(config: Config): string {
  const { name, embedded } = config.service;
  if (name === null) return serviceAddress(config);
  return embedded ? `embedded:${name}` : name;
}

/**
 * The client of the configured service, or of the embedded one at its endpoint.
 * @param watcher is told what it waits for.
 */
export function openApi(
  config: Config,
  options: Pick<RunOptions, 'endpoint' | 'logger' | 'proxies' | 'limits'>,
  watcher?: ApiWatcher,
): PredictionApi {
  const { service, timeouts, retry, poll } = config;
  return openPredictionApi({
    ...serviceEndpoint(config, options.endpoint),
    tokenIn: service.tokenIn,
    requestsPerSecond: service.requestsPerSecond,
    timeouts,
    retry,
    lostAfter: poll.lostAfter,
    logger: options.logger ?? silentLogger,
    ...(watcher && { watcher }),
    ...(options.proxies && { proxies: options.proxies }),
    ...(options.limits?.requests && { limiter: options.limits.requests }),
  });
}

/**
 * The addresses and the token of the configured service, or of the embedded one.
 * @param endpoint of the embedded service.
 * @throws ConfigError `SERVICE_NOT_STARTED` for an embedded service without an endpoint.
 */
export function serviceEndpoint(
  { service }: Config,
  endpoint: ServiceEndpoint | undefined,
): ServiceEndpoint & { readonly legacyBaseUrl: string | null } {
  if (!service.embedded) return service;
  if (endpoint !== undefined) return { ...endpoint, legacyBaseUrl: endpoint.baseUrl };
  throw new ConfigError(
    'SERVICE_NOT_STARTED',
    'service.embedded: the local service is started by the command line',
    { hint: 'start one with `foliopipe serve` and set service.baseUrl, or hand in an endpoint' },
  );
}
