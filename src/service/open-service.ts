/** The local prediction service: the four operations of the interface over real HTTP, with persistent folios. */
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import type { Bytes } from '../types.js';
import { createServer } from './create-server.js';
import type { FaultPlan } from './faults/rule.js';
import { createTokenCheck } from './http/parameters.js';
import { createHashPredictor } from './predictors/hash-predictor.js';
import type { Predictor } from './predictors/predictor.js';
import { openProcessor } from './processing/open-processor.js';
import type { ServiceLogger } from './service-logger.js';
import { openFolioStore } from './store/folio-store.js';
import { TimeScale } from './time-scale.js';
import { createFolioLimit } from './uploads/folio-limit.js';
import { createUploadFolder } from './uploads/upload-folder.js';

export interface ServiceOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly token: string;
  /** Folder of `service.db` and of the uploads in work. Only one service at a time can use it. */
  readonly dataDir: string;
  readonly predictor: PredictorName;
  /** Successful records per part. */
  readonly segmentRecords: number;
  /** Speed, shared equally by the open folios; 0: no limit. */
  readonly recordsPerSecond: number;
  /** Most folios that are PROCESSING at the same time; further uploads are refused with 429. */
  readonly maxOpen: number;
  /** Larger files are refused with 413. */
  readonly maxUploadBytes: Bytes;
  readonly logger?: ServiceLogger;
  /** How the service misbehaves; see `parseFaults`. Default: no faults. */
  readonly faults?: FaultPlan;
  /** Seconds of the service's time per second of real time. Default: 1. */
  readonly timeScale?: number;
}

/** `naics` ranks industries by the words of the name. `hash` is fast, but its predictions mean nothing. */
export type PredictorName = 'naics' | 'hash';

export interface Service {
  /** The address on which it listens, without a slash at the end. */
  readonly url: string;
  /** Stops at once. Folios that are PROCESSING continue when a service is opened on the same folder. */
  close(): Promise<void>;
}

/**
 * Opens the service and continues the folios that an earlier one left PROCESSING.
 * @throws LockedError when another service uses the data folder; ConfigError when the folder cannot be used or the
 * service cannot listen.
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
    folioLimit: createFolioLimit(processor, { maxOpen: options.maxOpen, recordsPerSecond }),
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
    makeFolder(dataDir, 0o700);
    await chmod(dataDir, 0o700);
  } catch (error) {
    throw new ConfigError(
      'SERVICE_DATA_DIR',
      `the local service cannot use the data folder ${dataDir}: ${(error as Error).message}`,
      {
        hint: 'name a folder that you own, on a local disk',
        facts: { path: dataDir },
        cause: error,
      },
    );
  }
}

/** Creates a predictor. Loads the dictionary of industries only if the predictor uses it. */
export async function createPredictor(name: PredictorName): Promise<Predictor> {
  if (name === 'hash') return createHashPredictor();
  const { createNaicsPredictor } = await import('./predictors/naics-predictor.js');
  return createNaicsPredictor();
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
