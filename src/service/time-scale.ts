/** Converts between the service's time and real time: at scale 60, an hour of the service takes a minute. */
import type { Milliseconds } from '../types.js';

export class TimeScale {
  readonly #scale: number;
  readonly #openedAt: number;

  /** @param now `performance.now()` when the service is opened. */
  constructor(scale: number, now: number) {
    this.#scale = scale;
    this.#openedAt = now;
  }

  /** The service's time since it was opened. */
  elapsed(now: number): Milliseconds {
    return this.toServiceTime(now - this.#openedAt);
  }

  /** A span of real time in the service's time. */
  toServiceTime(span: Milliseconds): Milliseconds {
    return span * this.#scale;
  }

  /** A span of the service's time in real time. */
  toRealTime(span: Milliseconds): Milliseconds {
    return span / this.#scale;
  }

  /** Converts a rate per second of the service's time to one per second of real time; 0 (no limit) stays 0. */
  ratePerSecond(rate: number): number {
    return rate * this.#scale;
  }

  /** `Retry-After` for a span of the service's time, in whole real seconds: at least 1, because 0 means at once. */
  retryAfter(span: Milliseconds): number {
    return Math.max(1, Math.ceil(this.toRealTime(span) / 1000));
  }
}
