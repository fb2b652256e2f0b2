/** How long an operation has been failing, and what of it is told: its begin, once a minute, and its end. */
import type { Milliseconds } from '../types.js';
import type { ApiLogger } from './api-logger.js';
import type { Operation } from './failure.js';

const TELL_EVERY: Milliseconds = 60_000;

/** Times are on one steady clock, given by the caller. */
export class Outage {
  readonly #operation: Operation;
  readonly #logger: ApiLogger;
  /** A failure that comes this long after the last one is another outage. */
  readonly #forgetAfter: Milliseconds;
  #since: number | null = null;
  #lastFailureAt = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isTold = false;

  constructor(operation: Operation, logger: ApiLogger, forgetAfter: Milliseconds) {
    this.#operation = operation;
    this.#logger = logger;
    this.#forgetAfter = forgetAfter;
  }

  /** @returns since when the operation has been failing. */
  recordFailure(now: number, facts: object, message: string): number {
    if (this.#since === null || now - this.#lastFailureAt > this.#forgetAfter) this.#since = now;
    this.#lastFailureAt = now;
    if (now - this.#toldAt >= TELL_EVERY) {
      this.#toldAt = now;
      this.#isTold = true;
      const seconds = Math.round((now - this.#since) / 1000);
      const lasting = seconds === 0 ? '' : ` (for ${seconds} s)`;
      this.#logger.warn(facts, `${this.#operation} fails and is tried again${lasting}: ${message}`);
    }
    return this.#since;
  }

  recordSuccess(now: number): void {
    if (this.#since !== null && this.#isTold) {
      const seconds = Math.round((now - this.#since) / 1000);
      this.#logger.info(
        { operation: this.#operation, seconds },
        `${this.#operation} works again after ${seconds} s`,
      );
      this.#isTold = false;
    }
    this.#since = null;
  }
}
