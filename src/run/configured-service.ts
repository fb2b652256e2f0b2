/** The service that a config names: its identity and its client. */
import { checkedApi } from '../api/handed-api.js';
import { openPredictionApi } from '../api/open-prediction-api.js';
import type { PredictionApi } from '../api/prediction-api.js';
import type { ApiWatcher } from '../api/retry-loop.js';
import type { Run } from '../checkpoint/checkpoint.js';
import { frozenAddress } from '../config/frozen-config.js';
import type { Config } from '../config/schema.js';
import { EMBEDDED, serviceAddress } from '../config/sections/service-section.js';
import { isAddress } from '../config/sections/values.js';
import { NO_ADDRESS, NO_TOKEN } from '../config/service-needs.js';
import { ConfigError } from '../errors.js';
import { guardLogger } from '../progress/guard-listeners.js';
import { presentTexts } from '../text.js';
import type { Segment } from '../types.js';
import type { RunOptions, ServiceEndpoint } from './run-options.js';

/**
 * The identity of a service, under which its runs, columns and answers are kept: `service.name`, or its address if it
 * has no name. The embedded service always has `embedded:` before it, so that it never shares a real one's identity.
 */
export function serviceIdentity(config: Config): string {
  const { name, embedded } = config.service;
  if (name === null) return serviceAddress(config);
  return embedded ? `${EMBEDDED}${name}` : name;
}

/** The names under which the service's answers are kept: its identity, and its address, as before it had a name. */
export function serviceNames(config: Config): readonly string[] {
  return [...new Set([serviceIdentity(config), serviceAddress(config)])];
}

/**
 * Whether stored answers are of the service. A local service is always known by its address (rule "A rehearsal never
 * looks real").
 */
export function isOfService({ service, rehearsal }: Pick<Segment, 'service' | 'rehearsal'>, config: Config) {
  return rehearsal ? service === serviceAddress(config) : serviceNames(config).includes(service);
}

/**
 * Whether a local service has answered a run at another address than the configured one, perhaps under its name. Such a
 * run does not count as one of the service (rule "A rehearsal never looks real").
 */
export function isRehearsalElsewhere(
  config: Pick<Config, 'service' | 'stateDir'>,
  run: Pick<Run, 'service' | 'frozen' | 'rehearsal'>,
): boolean {
  return run.rehearsal && frozenAddress(run) !== serviceAddress(config);
}

/**
 * The config with the address that a run has recorded, if none is given. For commands that ask no service: they find
 * runs by their service.
 */
export function withAddressOf(config: Config, run: Pick<Run, 'service' | 'frozen'> | undefined): Config {
  const { service } = config;
  if (run === undefined || service.embedded || service.baseUrl !== NO_ADDRESS) return config;
  const address = frozenAddress(run);
  return isAddress(address) ? { ...config, service: { ...service, baseUrl: address } } : config;
}

/** The missing keys of the config without which the service cannot be asked. */
export function missingOfService({ service }: Config): readonly ('service.baseUrl' | 'service.token')[] {
  if (service.embedded) return [];
  return [
    ...(service.baseUrl === NO_ADDRESS ? ['service.baseUrl' as const] : []),
    ...(service.token.reveal() === NO_TOKEN ? ['service.token' as const] : []),
  ];
}

/** The error of a command that must ask the service, and has no address or no token. */
export function serviceMissing(missing: readonly string[]): ConfigError {
  const isToken = missing.includes('service.token');
  const hints = presentTexts([
    missing.includes('service.baseUrl') &&
      'write service.baseUrl into the config, set the variable that it names there, or give --base-url',
    isToken && 'set FOLIOPIPE_TOKEN, or let service.tokenFile name a file that is there',
  ]);
  return new ConfigError(
    'SERVICE_NOT_GIVEN',
    `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing, and the service must be asked`,
    { hint: `${hints.join('; ')}; then run the same command again`, facts: { missing: missing.join(', ') } },
  );
}

/** Takes the place of the client if no service is given: every request throws the error. */
function refusingApi(errorOf: () => ConfigError): PredictionApi {
  const refuse = async () => {
    throw errorOf();
  };
  return { upload: refuse, track: refuse, download: refuse, search: refuse, close: async () => undefined };
}

/**
 * The client of the configured service, or of the embedded one at its endpoint; the caller's own, if there is one.
 * @param watcher is called with what the client waits for.
 */
export function openApi(
  config: Config,
  options: Pick<RunOptions, 'api' | 'endpoint' | 'logger' | 'proxies' | 'limits' | 'isServiceSpare'>,
  watcher?: ApiWatcher,
): PredictionApi {
  const { service, timeouts, retry, poll } = config;
  if (options.api !== undefined) return checkedApi(options.api, timeouts.shutdown);
  const missing = missingOfService(config);
  if (missing.length > 0) return refusingApi(() => serviceMissing(missing));
  if (options.isServiceSpare && service.embedded && options.endpoint === undefined) {
    return refusingApi(serviceNotStarted);
  }
  return openPredictionApi({
    ...serviceEndpoint(config, options.endpoint),
    tokenIn: service.tokenIn,
    requestsPerSecond: service.requestsPerSecond,
    timeouts,
    retry,
    lostAfter: poll.lostAfter,
    logger: guardLogger(options.logger),
    watcher,
    proxies: options.proxies,
    limiter: options.limits?.requests,
  });
}

/**
 * The addresses and the token of the configured service, or of the embedded one.
 * @param endpoint of the embedded service.
 * @throws ConfigError `SERVICE_NOT_STARTED` for an embedded service without an endpoint; `SERVICE_NOT_EMBEDDED` for an
 *   endpoint that would not be used, because then the configured service would be paid.
 */
export function serviceEndpoint(
  { service }: Config,
  endpoint: ServiceEndpoint | undefined,
): ServiceEndpoint & { readonly legacyBaseUrl: string | null } {
  if (!service.embedded) {
    if (endpoint === undefined) return service;
    throw new ConfigError(
      'SERVICE_NOT_EMBEDDED',
      'an endpoint was passed in, but the config names a service of its own',
      { hint: 'set service to { embedded: true }, or pass no endpoint' },
    );
  }
  if (endpoint !== undefined) {
    const { baseUrl, token } = endpoint;
    return { baseUrl, token, legacyBaseUrl: baseUrl };
  }
  throw serviceNotStarted();
}

function serviceNotStarted(): ConfigError {
  return new ConfigError(
    'SERVICE_NOT_STARTED',
    'service.embedded: the local service is started by the command line',
    { hint: "pass an endpoint: await openService() of 'foliopipe/service' gives one" },
  );
}
