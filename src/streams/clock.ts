/** The clock of a run: a parameter, so that tests can run hours in milliseconds. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Milliseconds } from '../types.js';

/** The time of a run, which tests can set. */
export interface Clock {
  /** Epoch milliseconds, a whole number. */
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

/** Synchronized clocks differ by less. */
const USUAL_MS: Milliseconds = 60_000;

/**
 * How far another clock is ahead of the system's.
 * @param now what it shows, epoch milliseconds.
 * @param lead the lead assumed so far, 0 at first: kept unless it is clearly wrong, so that time does not jump.
 */
export function leadOf(now: number, lead: Milliseconds): Milliseconds {
  const current = Math.round(now) - Date.now();
  return Math.abs(current - lead) > USUAL_MS ? current : lead;
}
