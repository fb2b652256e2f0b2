/**
 * Limits how many records are processed per second: a token bucket, which fills with time. Each processed record takes
 * one token. An idle service saves up only a short burst.
 */

/** How much unused time an idle service may make up for at once. */
const BURST_MS = 200;
/** Shortest wait, so that a fast service processes slices instead of single records. */
const TICK_MS = 20;

/** Times are milliseconds of any monotonic clock. */
export class RateLimiter {
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
