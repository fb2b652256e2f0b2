/** Starts the local service in this process for a config with `service.embedded`. */
import { randomBytes } from 'node:crypto';
import { type Config, embeddedServiceFolder, Secret, type ServiceEndpoint } from '../../pipelines/index.js';
import type { ServiceOptions } from '../service/open-service.js';

/** What else than usual the service does: slower, in another time, or with faults. */
export type EmbeddedBehaviour = Partial<
  Pick<ServiceOptions, 'predictor' | 'recordsPerSecond' | 'timeScale' | 'faults'>
>;

export interface EmbeddedService {
  readonly endpoint: ServiceEndpoint;
  close(): Promise<void>;
}

/** On a free port of the loopback, its folios under the state folder, with a token that lives as long as it. */
export async function openEmbeddedService(
  config: Config,
  behaviour: EmbeddedBehaviour = {},
): Promise<EmbeddedService | undefined> {
  if (!config.service.embedded) return undefined;
  // Loaded only here: a client of the real service needs neither fastify nor the predictors.
  const { openService } = await import('../service/open-service.js');
  const token = randomBytes(16).toString('hex');
  const service = await openService({
    host: '127.0.0.1',
    port: 0,
    token,
    dataDir: embeddedServiceFolder(config),
    predictor: 'naics',
    segmentRecords: 10_000,
    recordsPerSecond: 0,
    maxOpen: 1_000,
    maxUploadBytes: 1024 ** 3,
    ...behaviour,
  });
  return { endpoint: { baseUrl: service.url, token: new Secret(token) }, close: () => service.close() };
}
