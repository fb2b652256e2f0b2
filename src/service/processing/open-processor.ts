/** Processes the open folios in the background, a slice each in turn, at the service's pace. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { ServiceLogger } from '../service-logger.js';
import type { Folio } from '../store/folio.js';
import { FolioWork, UploadLostError, type WorkResources } from './folio-work.js';

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

// How many records may be processed now, so that a service keeps to its records per second.

/** Time that an idle service may make up for at once. */
const BURST_MS = 200;
/** Shortest wait, so that a quick service works on slices rather than on single records. */
const TICK_MS = 20;

/** A bucket that fills with time and is emptied by records; times are milliseconds of any steady clock. */
export class Pace {
  readonly #perMs: number;
  readonly #capacity: number;
  #level = 0;
  #filledAt: number;

  /** @param recordsPerSecond 0 sets no limit. */
  constructor(recordsPerSecond: number, now: number) {
    this.#perMs = recordsPerSecond === 0 ? Number.POSITIVE_INFINITY : recordsPerSecond / 1000;
    this.#capacity = Math.max(1, this.#perMs * BURST_MS);
    this.#filledAt = now;
  }

  /** Whole records that may be processed now. */
  available(now: number): number {
    if (this.#perMs === Number.POSITIVE_INFINITY) return Number.MAX_SAFE_INTEGER;
    this.#level = Math.min(this.#capacity, this.#level + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
    return Math.floor(this.#level);
  }

  spend(records: number): void {
    this.#level -= records;
  }

  /** Milliseconds until there is something to do again. */
  waitMs(): number {
    return Math.max(TICK_MS, (1 - this.#level) / this.#perMs);
  }
}
