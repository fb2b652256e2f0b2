/** The clock is a parameter, so that tests can run hours in milliseconds. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Milliseconds } from '../types.js';

/** The time of a run, which tests can set. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Throws the signal's reason if it aborts first. */
  sleep(time: Milliseconds, signal: AbortSignal): Promise<void>;
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
