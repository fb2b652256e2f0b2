/** The local prediction service: the four operations of the interface over real HTTP, with its own memory. */
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ConfigError } from '../errors.js';
import type { Bytes } from '../types.js';
import { createServer } from './create-server.js';
import type { FaultPlan } from './faults/rule.js';
import { createTokenCheck } from './http/parameters.js';
import { createHashPredictor } from './predictors/hash-predictor.js';
import type { Predictor } from './predictors/predictor.js';
import { openProcessor } from './processing/open-processor.js';
import { createAdmission } from './routes/upload.js';
import type { ServiceLogger } from './service-logger.js';
import { openFolioStore } from './store/folio-store.js';
import { TimeScale } from './time-scale.js';
import { createUploadFolder } from './uploads/upload-folder.js';

export interface ServiceOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly token: string;
  /** Folder of the service's memory: `service.db` and the uploads in work; for one service at a time. */
  readonly dataDir: string;
  readonly predictor: PredictorName;
  /** Successful records a part. */
  readonly segmentRecords: number;
  /** Shared alike by the open folios; 0: as fast as it goes. */
  readonly recordsPerSecond: number;
  /** Folios PROCESSING at once; one more upload is refused with 429. */
  readonly maxOpen: number;
  /** A larger file is refused with 413. */
  readonly maxUploadBytes: Bytes;
  readonly logger?: ServiceLogger;
  /** How the service misbehaves; see `parseFaults`. Left out: not at all. */
  readonly faults?: FaultPlan;
  /** How many seconds of the service's time pass in one of ours; left out: one. */
  readonly timeScale?: number;
}

export interface Service {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** Stops at once; whatever is PROCESSING goes on when a service is opened on the same folder. */
  close(): Promise<void>;
}

/**
 * Opens the service and goes on with the folios that an earlier one left PROCESSING.
 * @throws LockedError when another service has the data folder; ConfigError when that cannot be used, or when
 * the service cannot listen.
 */
export async function openService(options: ServiceOptions): Promise<Service> {
  await makeDataDir(options.dataDir);
  const { logger } = options;
  const predictor = await createPredictor(options.predictor);
  const uploads = await createUploadFolder(path.join(options.dataDir, 'uploads'));
  const store = openFolioStore(path.join(options.dataDir, 'service.db'));
  const time = new TimeScale(options.timeScale ?? 1, performance.now());
  const recordsPerSecond = time.ratePerSecond(options.recordsPerSecond);
  const processor = openProcessor({ store, uploads, predictor }, recordsPerSecond, logger);
  const app = await createServer({
    checkToken: createTokenCheck(options.token),
    admission: createAdmission(processor, { maxOpen: options.maxOpen, recordsPerSecond }),
    store,
    uploads,
    processor,
    predictor,
    time,
    faults: options.faults,
    maxUploadBytes: options.maxUploadBytes,
    segmentRecords: options.segmentRecords,
    logger,
  });
  const close = async (): Promise<void> => {
    await app.close();
    await processor.close();
    store.close();
  };
  try {
    const unfinished = store.processing();
    await uploads.sweep(unfinished.map(({ folio }) => folio));
    const url = await listen(app, options);
    for (const folio of unfinished) processor.add(folio);
    logger?.info({ url, unfinished: unfinished.length }, 'service listens');
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await chmod(dataDir, 0o700);
  } catch (error) {
    throw new ConfigError('SERVICE_DATA_DIR', `the local service cannot use the data folder ${dataDir}`, {
      hint: 'name a folder of your own, on a local disk',
      facts: { path: dataDir },
      cause: error,
    });
  }
}

async function listen(app: FastifyInstance, { host, port }: ServiceOptions): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    throw new ConfigError('SERVICE_CANNOT_LISTEN', `the local service cannot listen on ${host}:${port}`, {
      hint: 'choose another port; 0 takes a free one',
      facts: { host, port },
      cause: error,
    });
  }
}

// Chooses the predictor by its name; the dictionary of industries is loaded only where it is used.

/** `naics`: by the words of the name. `hash`: as fast as can be, without meaning. */
export type PredictorName = 'naics' | 'hash';

export async function createPredictor(name: PredictorName): Promise<Predictor> {
  if (name === 'hash') return createHashPredictor();
  const { createNaicsPredictor } = await import('./predictors/naics-predictor.js');
  return createNaicsPredictor();
}
