/**
 * The rate limiter of all requests: a number of them each second, first come, first served, and none during a pause.
 *
 * It is written by hand because p-limit and p-retry limit concurrency and attempts, not a rate, and because one 429
 * must hold back every request that waits already.
 */
import type { Milliseconds } from '../types.js';

/** What every request waits for. Processes that share an account may share one, behind this port. */
export interface RequestLimiter {
  /** Resolves when a request may start; throws the signal's reason if that aborts first. */
  wait(signal: AbortSignal): Promise<void>;
  /** Starts no request of this process before this time has passed, at once; a longer pause stays. */
  pause(time: Milliseconds): void;
}

/** Starts one waiting request. */
type Waiter = () => void;

const MAX_TIMER: Milliseconds = 2 ** 31 - 1;

export class RateLimiter implements RequestLimiter {
  readonly #interval: Milliseconds;
  readonly #waiters = new Set<Waiter>();
  /** When the next request may start, on the clock of `performance.now()`. */
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(requestsPerSecond: number) {
    this.#interval = 1000 / requestsPerSecond;
  }

  /** Resolves when a request may start; throws the signal's reason if that aborts first. */
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

  /** No request starts before this time has passed; a longer pause that is set already stays. */
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
        Math.min(Math.ceil(this.#nextAt - now), MAX_TIMER),
      );
      return;
    }
    this.#nextAt = now + this.#interval;
    this.#waiters.delete(next);
    next();
    this.#startNext();
  }

  /** A timer of a long pause must not keep the process alive when no request waits. */
  #stopIdleTimer(): void {
    if (this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
