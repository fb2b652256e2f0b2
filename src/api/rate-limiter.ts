/** One gate before all requests: so many a second, first come first served, and none at all during a pause. */
import type { Milliseconds } from '../types.js';

/** Lets one request pass. */
type Waiter = () => void;

const MAX_TIMER: Milliseconds = 2 ** 31 - 1;

export class RequestGate {
  readonly #interval: Milliseconds;
  readonly #waiters = new Set<Waiter>();
  /** On the clock of `performance.now()`. */
  #opensAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(requestsPerSecond: number) {
    this.#interval = 1000 / requestsPerSecond;
  }

  /** Resolves when a request may start; throws the signal's reason when that aborts first. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        this.#stopIdleTimer();
        reject(signal.reason);
      };
      const waiter: Waiter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiters.add(waiter);
      this.#open();
    });
  }

  /** No request starts before this time has passed; a pause already longer stays. */
  pause(time: Milliseconds): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + time);
  }

  #open(): void {
    const [next] = this.#waiters;
    if (next === undefined || this.#timer !== undefined) {
      return;
    }
    const now = performance.now();
    if (now < this.#opensAt) {
      this.#timer = setTimeout(() => this.#reopen(), Math.min(Math.ceil(this.#opensAt - now), MAX_TIMER));
      return;
    }
    this.#opensAt = now + this.#interval;
    this.#waiters.delete(next);
    next();
    this.#open();
  }

  #reopen(): void {
    this.#timer = undefined;
    this.#open();
  }

  /** A pause of an hour must not keep a process alive for which nobody waits. */
  #stopIdleTimer(): void {
    if (this.#waiters.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }
}
