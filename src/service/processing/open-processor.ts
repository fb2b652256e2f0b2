/** Processes the open folios in the background, a slice each in turn, at the service's pace. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { ServiceLogger } from '../service-logger.js';
import type { Folio } from '../store/folio.js';
import { FolioWork, type WorkResources } from './folio-work.js';
import { Pace } from './pace.js';
import { UploadLostError } from './upload-lost-error.js';

/** Rest after trouble (a full disk), which as a rule concerns every folio. */
const TROUBLE_MS = 1000;

export interface Processor {
  /** Takes on a folio that is PROCESSING. */
  add(folio: Folio): void;
  /** Folios being processed; one whose upload is lost is not, and takes no place. */
  readonly open: number;
  /** Records of the open folio that has the fewest left; 0 without one. */
  readonly fewestLeft: number;
  /** Stops after the slice in work. */
  close(): Promise<void>;
}

/** Must be closed, before the store. All open folios share `recordsPerSecond` (0: no limit) alike. */
export function openProcessor(
  resources: WorkResources,
  recordsPerSecond: number,
  logger: ServiceLogger | undefined,
): Processor {
  const works = new Set<FolioWork>();
  const pace = new Pace(recordsPerSecond, performance.now());
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  const takeTurn = async (work: FolioWork): Promise<void> => {
    const share = Math.ceil(pace.available(performance.now()) / works.size);
    if (share > 0 && work.remaining > 0) pace.spend(await work.processSlice(share));
    if (work.remaining > 0) return;
    work.finish();
    works.delete(work);
    const { folio, successful, failed } = work.folio;
    logger?.info({ folio, successful, failed }, 'folio finished');
    await work.removeUpload();
  };

  const rest = (ms: number): Promise<void> =>
    setTimeout(ms, undefined, { signal: stop.signal }).catch(() => undefined);

  const takeTurnOrRest = async (work: FolioWork): Promise<void> => {
    try {
      await takeTurn(work);
    } catch (error) {
      const { folio } = work.folio;
      await work.close();
      if (error instanceof UploadLostError) {
        works.delete(work);
        logger?.error({ err: error, folio }, 'folio lost its upload, stays PROCESSING');
        return;
      }
      logger?.error({ err: error, folio }, 'folio met trouble, trying again');
      await rest(TROUBLE_MS);
    }
  };

  const run = async (): Promise<void> => {
    while (works.size > 0 && !stop.signal.aborted) {
      for (const work of works) {
        if (stop.signal.aborted) break;
        await takeTurnOrRest(work);
        await setImmediate();
      }
      if (pace.available(performance.now()) < 1) await rest(pace.waitMs());
    }
    running = undefined;
  };

  return {
    add(folio) {
      works.add(new FolioWork(folio, resources));
      running ??= run();
    },
    get open() {
      return works.size;
    },
    get fewestLeft() {
      return works.size === 0 ? 0 : Math.min(...[...works].map((work) => work.remaining));
    },
    async close() {
      stop.abort();
      await running;
      for (const work of works) await work.close();
    },
  };
}
