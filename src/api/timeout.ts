/**
 * The time-outs of requests. Time in which this process does not run (it is stopped, or the machine sleeps) does not
 * count, and what waits in a socket is read before a time-out ends a request: a reply may be paid for.
 */
import { longestTimerMs } from '../quantities.js';
import type { Milliseconds } from '../types.js';

/** A monotonic clock that stops while this process does not run. */
export interface AwakeClock {
  now(): Milliseconds;
}

interface OpenAwakeClock extends AwakeClock {
  close(): void;
}

const TICK: Milliseconds = 500;
/** The most that counts between two ticks. More than one tick, because a busy process ticks late. */
const MAX_STEP: Milliseconds = 4 * TICK;
/** A busy machine may stop a process for a few seconds, which is not worth a message. */
const MIN_REPORTED: Milliseconds = 10_000;

/**
 * Opens a clock, which ticks until it is closed. Blocking work of the process itself for longer than 2 s counts as time
 * in which it does not run.
 * @param onGap called after a gap of more than 10 s, with the time that does not count.
 */
export function openAwakeClock(onGap: (gap: Milliseconds) => void): OpenAwakeClock {
  let counted = 0;
  let tickedAt = performance.now();
  const step = () => Math.min(performance.now() - tickedAt, MAX_STEP);
  const timer = setInterval(() => {
    const gap = performance.now() - tickedAt - MAX_STEP;
    counted += step();
    tickedAt = performance.now();
    if (gap > MIN_REPORTED) onGap(gap);
  }, TICK).unref();
  return {
    now: () => counted + step(),
    close: () => clearInterval(timer),
  };
}

/**
 * One time-out at a time. It can be paused, so that the time of a consumer does not count. Neither pausing nor resuming
 * creates a timer, so that reading a body needs no new timer for each piece.
 */
export class Timeout {
  readonly #clock: AwakeClock;
  #time: Milliseconds = 0;
  #startedAt: Milliseconds = 0;
  #isPaused = false;
  #onTimeout: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(clock: AwakeClock) {
    this.#clock = clock;
  }

  /** Starts a time-out and ends the one before it. @param time of any length. */
  begin(time: Milliseconds, onTimeout: () => void): void {
    this.end();
    this.#time = time;
    this.#onTimeout = onTimeout;
    this.resume();
    this.#wait();
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Starts the time again from zero. */
  resume(): void {
    this.#isPaused = false;
    this.#startedAt = this.#clock.now();
  }

  end(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  #wait(): void {
    const left = Math.min(this.#left(), longestTimerMs);
    // After a stop of the process Node runs its timers before it reads from its sockets, and immediates afterwards.
    this.#timer = setTimeout(() => {
      this.#turn = setImmediate(() => {
        if (this.#left() >= 1) this.#wait();
        else this.#onTimeout();
      });
    }, left);
  }

  #left(): Milliseconds {
    return this.#isPaused ? this.#time : this.#time - (this.#clock.now() - this.#startedAt);
  }
}

/**
 * Runs work that may be paid for under its own signal, which aborts with `signal`; once the work has called `begun`,
 * only `grace` later, so that the reply can still come. Removes its timer and its listener when the work has ended.
 * @throws the signal's reason if it is already aborted: then the work does not begin.
 */
export async function withGrace<T>(
  { grace, clock }: { readonly grace: Milliseconds; readonly clock: AwakeClock },
  signal: AbortSignal,
  work: (own: AbortController, begun: () => void) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const end = new Timeout(clock);
  let isBegun = false;
  const abort = (): void => own.abort(signal.reason);
  const forward = (): void => (isBegun ? end.begin(grace, abort) : abort());
  signal.addEventListener('abort', forward, { once: true });
  try {
    return await work(own, () => {
      isBegun = true;
    });
  } finally {
    end.end();
    signal.removeEventListener('abort', forward);
  }
}
