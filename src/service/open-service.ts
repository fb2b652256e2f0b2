/** The local prediction service: the four operations of the interface over real HTTP, with persistent folios. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { countOf } from '../quantities.js';
import { codeOf } from '../streams/system-error.js';
import type { Bytes } from '../types.js';
import { checkFaults, checkOptions } from './check-options.js';
import { createServer } from './create-server.js';
import { FaultSession } from './faults/fault-session.js';
import type { FaultPlan } from './faults/rule.js';
import type { Operation } from './http/operation.js';
import { createTokenCheck } from './http/parameters.js';
import { createHashPredictor } from './predictors/hash-predictor.js';
import type { Predictor } from './predictors/predictor.js';
import { openProcessor } from './processing/open-processor.js';
import type { ServiceLogger } from './service-logger.js';
import { openFolioStore } from './store/folio-store.js';
import { TimeScale } from './time-scale.js';
import { type AcceptedUpload, acceptedUploads } from './uploads/accepted-uploads.js';
import { createFolioLimit } from './uploads/folio-limit.js';
import { createUploadFolder } from './uploads/upload-folder.js';

/** How the local service is opened. Each option has a default that suits a test. */
export interface ServiceOptions {
  /** The address on which it listens. Default: `127.0.0.1`, which only this machine reaches. */
  readonly host?: string | undefined;
  /** Default: 0, which takes a free one. */
  readonly port?: number | undefined;
  /** The token that clients must send. Default: a random one, see `Service.token`. */
  readonly token?: string | undefined;
  /**
   * Folder of `service.db` and of the uploads in progress. Only one service at a time can use it. Default: a temporary
   * one, which `close` removes.
   */
  readonly dataDir?: string | undefined;
  /** Default: `naics`. */
  readonly predictor?: PredictorName | undefined;
  /** Successful records per part. Default: 10,000. */
  readonly segmentRecords?: number | undefined;
  /** Speed, shared equally by the open folios. Default: 0, no limit. */
  readonly recordsPerSecond?: number | undefined;
  /** The most folios that are PROCESSING at the same time; further uploads are refused with 429. Default: 1,000. */
  readonly maxOpen?: number | undefined;
  /** Larger files are refused with 413. Default: 1 GiB. */
  readonly maxUploadBytes?: Bytes | undefined;
  /** Default: logs nothing. */
  readonly logger?: ServiceLogger | undefined;
  /** How the service misbehaves; see `parseFaults`. Default: no faults. */
  readonly faults?: FaultPlan | undefined;
  /** Seconds of the service's time per second of real time. Default: 1. */
  readonly timeScale?: number | undefined;
}

/**
 * `naics` ranks industries by the words of the name, and has no answer for about one real name in five. `hash` is fast
 * and fails about one name in fifty, but its predictions mean nothing. Both always give the same answer to the same
 * name.
 */
export type PredictorName = 'naics' | 'hash';

/** An open local service. It fits the option `endpoint` of the pipelines. */
export interface Service {
  /** The address on which it listens, without a slash at the end. */
  readonly baseUrl: string;
  /** The token that clients must send. Printing it does not show it. */
  readonly token: { reveal(): string };
  /**
   * Replaces the faults; undefined ends them. Rules count calls, folios and time from now on. Calls in progress keep
   * their faults.
   */
  setFaults(faults: FaultPlan | undefined): void;
  /** What it has accepted, oldest first. @throws ConfigError `SERVICE_CLOSED` after `close`. */
  uploads(): readonly AcceptedUpload[];
  /** How many calls of each operation have arrived since it was opened, refused ones included. */
  calls(): Readonly<Record<Operation, number>>;
  /** Stops at once. Folios that are PROCESSING continue when a service is opened on the same folder. */
  close(): Promise<void>;
  /** Closes it at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the local prediction service in this process: the one that `foliopipe serve` starts. It continues the folios that
 * an earlier one has left PROCESSING in its folder.
 * @returns the service, which must be closed: an open one keeps the process alive.
 * @throws LockedError when another service uses the data folder; ConfigError when an option is wrong, the folder cannot
 *   be used or the service cannot listen.
 */
export async function openService(options: ServiceOptions = {}): Promise<Service> {
  checkOptions(options);
  if (options.dataDir !== undefined) return openInFolder(options.dataDir, options, async () => undefined);
  const folder = await mkdtemp(path.join(tmpdir(), 'foliopipe-service-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  return openInFolder(folder, options, remove).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
}

/** @param released called once the folder is no longer used. */
async function openInFolder(
  dataDir: string,
  options: ServiceOptions,
  released: () => Promise<void>,
): Promise<Service> {
  const { logger, host = '127.0.0.1', port = 0, maxOpen = 1_000 } = options;
  const { token = randomBytes(16).toString('hex') } = options;
  await makeDataDir(dataDir);
  const predictor = await createPredictor(options.predictor ?? 'naics');
  const uploads = await createUploadFolder(path.join(dataDir, 'uploads'));
  const store = openFolioStore(path.join(dataDir, 'service.db'));
  const openedAt = () => new TimeScale(options.timeScale ?? 1, performance.now());
  const time = openedAt();
  const recordsPerSecond = time.ratePerSecond(options.recordsPerSecond ?? 0);
  const processor = openProcessor({ store, uploads, predictor }, recordsPerSecond, logger);
  let faults = options.faults && new FaultSession(options.faults, time, 0);
  const calls: Record<Operation, number> = { upload: 0, track: 0, download: 0, search: 0 };
  const app = await createServer({
    checkToken: createTokenCheck(token),
    folioLimit: createFolioLimit(processor, { maxOpen, recordsPerSecond }),
    store,
    uploads,
    processor,
    predictor,
    time,
    faults: () => faults,
    onCall: (operation) => {
      calls[operation] += 1;
    },
    maxUploadBytes: options.maxUploadBytes ?? 1024 ** 3,
    segmentRecords: options.segmentRecords ?? 10_000,
    logger,
  });
  let closing: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    await app.close();
    await processor.close();
    store.close();
    await released();
  };
  const close = (): Promise<void> => {
    closing ??= closeAll();
    return closing;
  };
  const checkOpen = () => {
    if (closing === undefined) return;
    throw new ConfigError('SERVICE_CLOSED', 'the local service is closed: its folios can no longer be read', {
      hint: 'look at uploads() before close(); a service that is opened on the same dataDir has them too',
    });
  };
  try {
    const unfinished = store.processing();
    await uploads.sweep(unfinished.map(({ folio }) => folio));
    const baseUrl = await listen(app, host, port);
    for (const folio of unfinished) processor.add(folio);
    if (unfinished.length > 0) {
      logger?.info(
        { url: baseUrl, unfinished: unfinished.length },
        `${countOf(unfinished.length, 'unfinished folio')} of an earlier service continue`,
      );
    }
    return {
      baseUrl,
      token: { reveal: () => token },
      setFaults: (plan) => {
        checkFaults(plan);
        checkOpen();
        faults = plan && new FaultSession(plan, openedAt(), store.newestId());
      },
      uploads: () => {
        checkOpen();
        return acceptedUploads(store, uploads);
      },
      calls: () => ({ ...calls }),
      close,
      [Symbol.asyncDispose]: close,
    };
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

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    const why = codeOf(error) === 'EADDRINUSE' ? 'another program listens there' : (error as Error).message;
    throw new ConfigError(
      'SERVICE_CANNOT_LISTEN',
      `the local service cannot listen on ${host}:${port}: ${why}`,
      {
        hint: 'choose another port, or a free one: foliopipe serve --port 0; or end the program that has it',
        facts: { host, port },
        cause: error,
      },
    );
  }
}
