/** How long an operation has been failing, over all its calls. */
import type { Logger } from '../logger.js';
import type { Milliseconds } from '../types.js';
import type { Operation } from './requests.js';

type OutageLogger = Pick<Logger, 'debug' | 'info' | 'warn'>;

const LOG_INTERVAL: Milliseconds = 60_000;
/** An outage that lasts this long is logged although another one was logged less than a minute ago. */
const LONG: Milliseconds = 5_000;

/**
 * Measures how long one operation has been failing, over all its calls. Logs an outage when it begins, once a minute,
 * and when it is over, so that "works again" is not the last line about an operation that fails. Of a service that fails now
 * and then, only the first short outage of a minute is logged. The caller passes the times, all from the same monotonic
 * clock.
 */
export class Outage {
  readonly #operation: Operation;
  readonly #logger: OutageLogger;
  /** A failure this long after the previous one begins a new outage. */
  readonly #forgetAfter: Milliseconds;
  #since: number | null = null;
  #lastFailureAt = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #isLogged = false;

  constructor(operation: Operation, logger: OutageLogger, forgetAfter: Milliseconds) {
    this.#operation = operation;
    this.#logger = logger;
    this.#forgetAfter = forgetAfter;
  }

  /** @returns the time at which the outage began. */
  recordFailure(now: number, facts: object, message: string): number {
    if (this.#since === null || now - this.#lastFailureAt > this.#forgetAfter) this.#since = now;
    this.#lastFailureAt = now;
    const isNews = !this.#isLogged && now - this.#since >= LONG;
    if (isNews || now - this.#loggedAt >= LOG_INTERVAL) {
      this.#loggedAt = now;
      this.#isLogged = true;
      const seconds = Math.round((now - this.#since) / 1000);
      const lasting = seconds === 0 ? '' : ` (for ${seconds} s)`;
      this.#logger.warn(facts, `${this.#operation} fails and is tried again${lasting}: ${message}`);
    }
    return this.#since;
  }

  recordSuccess(now: number): void {
    if (this.#since !== null && this.#isLogged) {
      const seconds = Math.round((now - this.#since) / 1000);
      const message = `${this.#operation} works again after ${seconds} s`;
      this.#logger.info({ operation: this.#operation, seconds }, message);
      this.#isLogged = false;
    }
    this.#since = null;
  }
}
