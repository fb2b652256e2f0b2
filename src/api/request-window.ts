/**
 * Counts the requests of the last second, wherever that second begins; pure. The k-th request follows the one that is a
 * whole second's number before it by a second. So a late timer costs its own lateness once, and delays no later request.
 */
import type { Milliseconds } from '../types.js';

/** Requests that were sent together. */
interface Sent {
  readonly at: Milliseconds;
  readonly count: number;
}

/** All times are of one monotonic clock, and none is before the one that was given last. */
export class RequestWindow {
  readonly #most: number;
  readonly #span: Milliseconds;
  /** Those that still count, the oldest first. */
  readonly #sent: Sent[] = [];
  #count = 0;

  /**
   * @param perSecond may be a fraction: 2.5 allows three requests in any 1.2 s, and so three in any second. A number of
   *   less than one allows one request at a time.
   */
  constructor(perSecond: number) {
    this.#most = Math.ceil(perSecond);
    this.#span = (1000 * this.#most) / perSecond;
  }

  /** How many requests may be sent now. */
  free(now: Milliseconds): number {
    // The same sum as in `opensAt`: rounded differently, it would open at a time at which nothing is free.
    while (now >= this.opensAt()) {
      this.#count -= this.#sent.shift()!.count;
    }
    return this.#most - this.#count;
  }

  /** When the oldest request counts no more; never, if none counts. */
  opensAt(): Milliseconds {
    return (this.#sent[0]?.at ?? Number.POSITIVE_INFINITY) + this.#span;
  }

  /** @param at a time at which they certainly were sent: it may be later than the request, but not earlier. */
  record(count: number, at: Milliseconds): void {
    if (count === 0) return;
    this.#sent.push({ at, count });
    this.#count += count;
  }
}
