/**
 * Limits all requests to a number each second, first come, first served. During a pause none starts.
 *
 * It is written by hand because p-limit and p-retry limit concurrency and attempts, not a rate, and because one 429 must
 * also delay every request that is already waiting.
 */
import { longestTimerMs } from '../quantities.js';
import type { Milliseconds } from '../types.js';

/** Every request waits for it. Processes that share an account may share one limiter behind this port. */
export interface RequestLimiter {
  /** Resolves when a request may start; throws the signal's reason if it aborts first. */
  wait(signal: AbortSignal): Promise<void>;
  /** From now on, lets no request of this process start before this time has passed; keeps a longer pause. */
  pause(time: Milliseconds): void;
}

/** Starts one waiting request. */
type Waiter = () => void;

export class RateLimiter implements RequestLimiter {
  readonly #interval: Milliseconds;
  readonly #waiters = new Set<Waiter>();
  /** When the next request may start, on the clock of `performance.now()`. */
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(requestsPerSecond: number) {
    this.#interval = 1000 / requestsPerSecond;
  }

  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        this.#stopIdleTimer();
        reject(signal.reason);
      };
      const waiter: Waiter = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#startNext();
    });
  }

  pause(time: Milliseconds): void {
    this.#nextAt = Math.max(this.#nextAt, performance.now() + time);
  }

  #startNext(): void {
    const [next] = this.#waiters;
    if (next === undefined || this.#timer !== undefined) return;
    const now = performance.now();
    if (now < this.#nextAt) {
      this.#timer = setTimeout(
        () => {
          this.#timer = undefined;
          this.#startNext();
        },
        Math.min(Math.ceil(this.#nextAt - now), longestTimerMs),
      );
      return;
    }
    this.#nextAt = now + this.#interval;
    this.#waiters.delete(next);
    next();
    this.#startNext();
  }

  /** Stops the timer of a long pause when no request waits, so that it does not keep the process alive. */
  #stopIdleTimer(): void {
    if (this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
