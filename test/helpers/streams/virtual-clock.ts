/** A clock that jumps to the next wake-up time as soon as nothing else is left to run. */
import type { Clock } from '../../../src/streams/clock.js';
import { turns } from './gates.js';

export interface VirtualClock extends Clock {
  /** The duration of every sleep, in the order of the calls. */
  readonly slept: readonly number[];
}

export function createVirtualClock(start = 1_000_000): VirtualClock {
  let now = start;
  let pumping = false;
  const slept: number[] = [];
  const sleepers: { at: number; wake: () => void }[] = [];

  const pump = async () => {
    pumping = true;
    while (sleepers.length > 0) {
      await turns(10);
      sleepers.sort((a, b) => a.at - b.at);
      const next = sleepers.shift();
      if (next === undefined) break;
      now = Math.max(now, next.at);
      next.wake();
    }
    pumping = false;
  };

  return {
    slept,
    now: () => now,
    sleep: (time, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        slept.push(time);
        const sleeper = { at: now + time, wake: () => leave(resolve) };
        const abort = () => {
          sleepers.splice(sleepers.indexOf(sleeper), 1);
          leave(() => reject(signal.reason));
        };
        const leave = (end: () => void) => {
          signal.removeEventListener('abort', abort);
          end();
        };
        signal.addEventListener('abort', abort, { once: true });
        sleepers.push(sleeper);
        if (!pumping) void pump();
      }),
  };
}
