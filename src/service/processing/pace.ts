/** How many records may be processed now, so that a service keeps to its records per second. */

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
