/** The service that a config names: its identity and its client. */
import { openPredictionApi } from '../api/open-prediction-api.js';
import type { PredictionApi } from '../api/prediction-api.js';
import type { Config } from '../config/schema.js';
import { serviceAddress } from '../config/service-section.js';
import { ConfigError } from '../errors.js';
import { silentLogger } from '../logger.js';
import type { RunOptions } from './run-options.js';

/**
 * The identity of a service, under which its runs, columns and answers are kept: `service.name`, or its address if it
 * has no name. The embedded service always has `embedded:` before it, so that it never shares a real one's identity.
 */
export function serviceIdentity(config: Config): string {
  const { name, embedded } = config.service;
  if (name === null) return serviceAddress(config);
  return embedded ? `embedded:${name}` : name;
}

/** The client of the configured service, or of the embedded one at its endpoint. */
export function openApi(
  config: Config,
  options: Pick<RunOptions, 'endpoint' | 'logger' | 'proxies' | 'limits'>,
): PredictionApi {
  const { service, timeouts, retry, poll } = config;
  const { endpoint } = options;
  if (service.embedded && endpoint === undefined) {
    throw new ConfigError(
      'SERVICE_NOT_STARTED',
      'service.embedded: the local service is started by the command line',
      {
        hint: 'start one with `foliopipe serve` and set service.baseUrl, or hand in an endpoint',
      },
    );
  }
  const address = service.embedded
    ? { baseUrl: endpoint!.baseUrl, legacyBaseUrl: endpoint!.baseUrl, token: endpoint!.token }
    : { baseUrl: service.baseUrl, legacyBaseUrl: service.legacyBaseUrl, token: service.token };
  return openPredictionApi({
    ...address,
    tokenIn: service.tokenIn,
    requestsPerSecond: service.requestsPerSecond,
    timeouts,
    retry,
    lostAfter: poll.lostAfter,
    logger: options.logger ?? silentLogger,
    ...(options.proxies && { proxies: options.proxies }),
    ...(options.limits?.requests && { limiter: options.limits.requests }),
  });
}
