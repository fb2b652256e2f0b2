/** Clocks: that of a run, a parameter, so that tests can run hours in milliseconds; and that of another machine. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Milliseconds } from '../types.js';

/** The time of a run, which tests can set. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Throws the signal's reason if it aborts first. */
  sleep(time: Milliseconds, signal: AbortSignal): Promise<void>;
}

/** A sleep that can be ended early. */
export interface Rest {
  /** Resolves after the time, or as soon as `wake` is called. */
  rest(time: Milliseconds): Promise<void>;
  /** Does nothing if no rest is running. */
  wake(): void;
}

export function createRest(clock: Pick<Clock, 'sleep'>): Rest {
  let wake = () => {};
  return {
    rest: async (time) => {
      const controller = new AbortController();
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([woken, clock.sleep(time, controller.signal).catch(() => undefined)]);
      controller.abort();
    },
    wake: () => wake(),
  };
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (time, signal) => {
    try {
      await wait(time, undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  },
};

/** How much a clock may gain on another one, a millisecond: while one of them is being set, it runs faster or slower. */
const DRIFT = 0.001;

/** A question and its answer. */
export interface Exchange {
  /** By this process's clock, which must be monotonic. */
  readonly asked: Milliseconds;
  readonly answered: Milliseconds;
  /** By the other clock. */
  readonly receivedAt: number;
  readonly answeredAt: number;
}

/**
 * What another machine's clock shows, between two bounds: it received a question after that was sent, and answered before
 * the answer came. The quicker an answer, the closer they are; nothing is guessed from how long answers take.
 */
export class OtherClock {
  /** How far it is ahead of this process's clock: at least, and at most. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;
  #heard: Milliseconds = 0;

  /** How far the two bounds are apart; infinite before the first answer. */
  get unsure(): Milliseconds {
    return this.#most - this.#least;
  }

  hear({ asked, answered, receivedAt, answeredAt }: Exchange): void {
    const [least, most] = [answeredAt - answered, receivedAt - asked];
    const drift = DRIFT * (answered - this.#heard);
    this.#least = Math.max(least, this.#least - drift);
    this.#most = Math.min(most, this.#most + drift);
    // The other clock was set, so the earlier bounds no longer hold.
    if (this.#least > this.#most) [this.#least, this.#most] = [least, most];
    this.#heard = answered;
  }

  /** The time by this process's clock when the other one shows this: at the earliest, and at the latest. */
  local(time: number): { readonly earliest: Milliseconds; readonly latest: Milliseconds } {
    return { earliest: time - this.#most, latest: time - this.#least };
  }
}
