/** How the service's own time runs against the clock: at 60, an hour of the service is a minute of ours. */
import type { Milliseconds } from '../types.js';

export class TimeScale {
  readonly #scale: number;
  readonly #openedAt: number;

  /** @param now `performance.now()` at which the service is opened. */
  constructor(scale: number, now: number) {
    this.#scale = scale;
    this.#openedAt = now;
  }

  /** The service's time since it was opened. */
  elapsed(now: number): Milliseconds {
    return this.toService(now - this.#openedAt);
  }

  /** What a span of ours is in the service's time. */
  toService(ours: Milliseconds): Milliseconds {
    return ours * this.#scale;
  }

  /** How long a span of the service's time lasts for us. */
  toOurs(span: Milliseconds): Milliseconds {
    return span / this.#scale;
  }

  /** A rate by the second of the service, by ours; 0, which sets no limit, stays 0. */
  ratePerSecond(rate: number): number {
    return rate * this.#scale;
  }

  /** `Retry-After` in our seconds: the header knows whole ones only, and 0 would mean at once. */
  retryAfter(span: Milliseconds): number {
    return Math.max(1, Math.ceil(this.toOurs(span) / 1000));
  }
}
