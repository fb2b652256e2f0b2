/**
 * Limits all requests to a number in any second. An upload starts before all others that wait, because it gives the
 * service work to do; the others start first come, first served. During a pause none starts.
 *
 * It is written by hand because p-limit and p-retry limit concurrency and attempts, not a rate, and because one 429 must
 * also delay every request that is already waiting.
 */
import { longestTimerMs } from '../quantities.js';
import { systemClock } from '../streams/clock.js';
import type { Milliseconds } from '../types.js';
import type { Operation } from './requests.js';

/**
 * Called when the request is about to be written to the service, which may be long after its start where a connection
 * must be opened first, and again at its end in any case (`isEnd`). It must not throw. The first call may return a
 * promise: the request is written when that has resolved.
 */
export type Written = (isEnd?: boolean) => Promise<void> | undefined | void;

/** Every request waits for it. Processes that share an account may share one limiter behind this port. */
export interface RequestLimiter {
  /**
   * Resolves when a request may start; throws the signal's reason if it aborts first.
   * @param operation what the request is for: a limiter may let some start before others.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a limiter that counts at the start resolves with nothing.
  wait(signal: AbortSignal, operation: Operation): Promise<Written | void>;
  /** Resolves when no pause is in force. Left out if a request may begin within a pause and wait. */
  ready?(signal: AbortSignal): Promise<void>;
  /** From now on, lets no request of this process start before this time has passed; keeps a longer pause. */
  pause(time: Milliseconds): void;
}

/** Starts one waiting request. */
type Waiter = () => void;

/** The requests of a second start in at least this many turns of the event loop. */
const TURNS_PER_SECOND = 20;

/**
 * A request holds its place from its start until the end of the turn of the event loop in which it is written, and counts
 * from then on.
 */
export class RateLimiter implements RequestLimiter {
  readonly #window: RequestWindow;
  readonly #perTurn: number;
  readonly #uploads = new Set<Waiter>();
  readonly #others = new Set<Waiter>();
  /** When the pause ends, on the clock of `performance.now()`. */
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Requests that have started and are not yet counted. */
  #held = 0;
  /** Held requests that are written in this turn. */
  #written = 0;
  /** Set until the end of a turn in which requests start or are written. */
  #turn: NodeJS.Immediate | undefined;

  constructor(requestsPerSecond: number) {
    this.#window = new RequestWindow(requestsPerSecond);
    this.#perTurn = Math.ceil(requestsPerSecond / TURNS_PER_SECOND);
  }

  /** @returns what the caller must call when the request is written or ends: the first call counts. */
  async wait(signal: AbortSignal, operation: Operation): Promise<() => void> {
    signal.throwIfAborted();
    const waiters = operation === 'upload' ? this.#uploads : this.#others;
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        waiters.delete(waiter);
        this.#stopIdleTimer();
        reject(signal.reason);
      };
      const waiter: Waiter = () => {
        waiters.delete(waiter);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiters.add(waiter);
      this.#startNext();
    });
    let isWritten = false;
    return () => {
      if (isWritten) return;
      isWritten = true;
      this.#written++;
      this.#awaitTurnEnd();
    };
  }

  async ready(signal: AbortSignal): Promise<void> {
    const left = () => Math.ceil(this.#pausedUntil - performance.now());
    while (left() > 0) await systemClock.sleep(Math.min(left(), longestTimerMs), signal);
  }

  pause(time: Milliseconds): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + time);
  }

  #startNext(): void {
    if (!this.#isAwaited() || this.#timer !== undefined || this.#turn !== undefined) return;
    const now = performance.now();
    const free = this.#window.free(now) - this.#held;
    const opensAt = Math.max(this.#pausedUntil, free > 0 ? now : this.#window.opensAt());
    // All places are held: this continues when the next request is written.
    if (opensAt === Number.POSITIVE_INFINITY) return;
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
    const started = [...this.#uploads, ...this.#others].slice(0, Math.min(free, this.#perTurn));
    this.#held += started.length;
    for (const start of started) start();
    this.#awaitTurnEnd();
  }

  /**
   * This process may be stopped before requests are sent, so they count from the turn's end, and no other request
   * starts before that.
   */
  #awaitTurnEnd(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#window.record(this.#written, performance.now());
      this.#held -= this.#written;
      this.#written = 0;
      this.#startNext();
    });
  }

  /** Stops the timer of a long pause when no request waits, so that it does not keep the process alive. */
  #stopIdleTimer(): void {
    if (this.#isAwaited()) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #isAwaited(): boolean {
    return this.#uploads.size + this.#others.size > 0;
  }
}

/** Requests that were sent together. */
interface Sent {
  readonly at: Milliseconds;
  readonly count: number;
}

/**
 * Counts the requests of the last second, wherever that second begins; pure. With three requests a second, each one
 * comes at least a second after the third one before it. So a late timer costs its own lateness once, and delays no
 * later request. All times are of one monotonic clock, and never decrease from call to call.
 */
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

  /** When the oldest request stops counting; Infinity if none counts. */
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
