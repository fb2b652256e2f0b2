/**
 * Limits all requests to a number in any second, first come, first served. During a pause none starts.
 *
 * It is written by hand because p-limit and p-retry limit concurrency and attempts, not a rate, and because one 429 must
 * also delay every request that is already waiting.
 */
import { longestTimerMs } from '../quantities.js';
import type { Milliseconds } from '../types.js';
import { RequestWindow } from './request-window.js';

/** Every request waits for it. Processes that share an account may share one limiter behind this port. */
export interface RequestLimiter {
  /** Resolves when a request may start; throws the signal's reason if it aborts first. */
  wait(signal: AbortSignal): Promise<void>;
  /** From now on, lets no request of this process start before this time has passed; keeps a longer pause. */
  pause(time: Milliseconds): void;
}

/** Starts one waiting request. */
type Waiter = () => void;

/**
 * The share of a second's requests that start in one turn of the event loop. Those of one turn count from its end, when
 * all of them are sent.
 */
const TURNS_PER_SECOND = 20;

export class RateLimiter implements RequestLimiter {
  readonly #window: RequestWindow;
  readonly #perTurn: number;
  readonly #waiters = new Set<Waiter>();
  /** When the pause ends, on the clock of `performance.now()`. */
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Set from the start of some requests until they are counted. */
  #turn: NodeJS.Immediate | undefined;

  constructor(requestsPerSecond: number) {
    this.#window = new RequestWindow(requestsPerSecond);
    this.#perTurn = Math.ceil(requestsPerSecond / TURNS_PER_SECOND);
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
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#startNext();
    });
  }

  pause(time: Milliseconds): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + time);
  }

  #startNext(): void {
    if (this.#waiters.size === 0 || this.#timer !== undefined || this.#turn !== undefined) return;
    const now = performance.now();
    const free = this.#window.free(now);
    const opensAt = Math.max(this.#pausedUntil, free > 0 ? now : this.#window.opensAt());
    // A timer may fire early: then another one waits for the rest.
    if (now < opensAt) {
      this.#timer = setTimeout(
        () => {
          this.#timer = undefined;
          this.#startNext();
        },
        Math.min(Math.ceil(opensAt - now), longestTimerMs),
      );
      return;
    }
    const started = [...this.#waiters].slice(0, Math.min(free, this.#perTurn));
    for (const start of started) start();
    // This process may be stopped before they are sent, so they count from the next turn, and no other starts before.
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      this.#window.record(started.length, performance.now());
      this.#startNext();
    });
  }

  /** Stops the timer of a long pause when no request waits, so that it does not keep the process alive. */
  #stopIdleTimer(): void {
    if (this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
