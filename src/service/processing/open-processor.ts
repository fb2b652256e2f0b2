/** Processes the open folios in the background: one slice of each in turn, at the service's rate. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { ServiceLogger } from '../service-logger.js';
import type { Folio } from '../store/folio.js';
import { FolioWork, UploadLostError, type WorkResources } from './folio-work.js';

/** Pause after an error. Most errors, such as a full disk, affect every folio. */
const ERROR_PAUSE_MS = 1000;

export interface Processor {
  /** Adds a folio that is PROCESSING. */
  add(folio: Folio): void;
  /** Number of folios being processed. A folio whose upload is lost is not counted. */
  readonly open: number;
  /** Remaining records of the open folio that has the fewest; 0 without open folios. */
  readonly fewestLeft: number;
  /** Stops after the current slice. */
  close(): Promise<void>;
}

/** Must be closed before the store. Open folios share `recordsPerSecond` (0: no limit) equally. */
export function openProcessor(
  resources: WorkResources,
  recordsPerSecond: number,
  logger: ServiceLogger | undefined,
): Processor {
  const works = new Set<FolioWork>();
  const bucket = new TokenBucket(recordsPerSecond, performance.now());
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  const processNext = async (work: FolioWork): Promise<void> => {
    const share = Math.ceil(bucket.available(performance.now()) / works.size);
    if (share > 0 && work.remaining > 0) bucket.spend(await work.processSlice(share));
    if (work.remaining > 0) return;
    work.finish();
    works.delete(work);
    const { folio, fileName, successful, failed } = work.folio;
    logger?.info(
      { folio, fileName, successful, failed },
      `folio ${folio} is finished: ${fileName}, ${successful} successful, ${failed} failed`,
    );
    await work.removeUpload();
  };

  const pause = (ms: number): Promise<void> =>
    setTimeout(ms, undefined, { signal: stop.signal }).catch(() => undefined);

  const processNextOrPause = async (work: FolioWork): Promise<void> => {
    try {
      await processNext(work);
    } catch (error) {
      const { folio } = work.folio;
      await work.close();
      if (error instanceof UploadLostError) {
        works.delete(work);
        logger?.error({ err: error, folio }, `folio ${folio} stays PROCESSING: ${error.message}`);
        return;
      }
      logger?.error({ err: error, folio }, `folio ${folio} fails and is tried again: ${error}`);
      await pause(ERROR_PAUSE_MS);
    }
  };

  const run = async (): Promise<void> => {
    while (works.size > 0 && !stop.signal.aborted) {
      for (const work of works) {
        if (stop.signal.aborted) break;
        await processNextOrPause(work);
        await setImmediate();
      }
      if (bucket.available(performance.now()) < 1) await pause(bucket.waitMs());
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

/** How much unused time an idle service may make up for at once. */
const BURST_MS = 200;
/** Shortest wait, so that a fast service processes slices instead of single records. */
const TICK_MS = 20;

/**
 * Limits how many records are processed per second. The bucket fills with time, and each processed record takes one
 * token. An idle service saves up only a short burst. Times are milliseconds of any monotonic clock.
 */
export class TokenBucket {
  readonly #perMs: number;
  readonly #capacity: number;
  #level = 0;
  #filledAt: number;

  /** @param recordsPerSecond 0: no limit. */
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

  /** Takes the tokens of processed records out of the bucket. */
  spend(records: number): void {
    this.#level -= records;
  }

  /** Milliseconds to wait until a record is available. */
  waitMs(): number {
    return Math.max(TICK_MS, (1 - this.#level) / this.#perMs);
  }
}
