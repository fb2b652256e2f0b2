/** Aborts a run at its deadline. */
import { DeadlineError } from '../errors/index.js';
import type { Clock } from '../streams/clock.js';
import type { Closeable } from './releasers.js';

/** @param deadline epoch milliseconds; one that has passed aborts at once. */
export function stopAtDeadline(controller: AbortController, deadline: number, clock: Clock): Closeable {
  const stop = () =>
    controller.abort(
      new DeadlineError('DEADLINE_REACHED', `the deadline ${new Date(deadline).toISOString()} was reached`, {
        hint: 'run the same command with a later deadline: it goes on where this one stopped',
        facts: { deadline: new Date(deadline).toISOString() },
      }),
    );
  const left = deadline - clock.now();
  if (left <= 0) {
    stop();
    return { close: async () => undefined };
  }
  const timer = setTimeout(stop, Math.min(left, longestTimerMs));
  return { close: async () => clearTimeout(timer) };
}

/** A longer timer of Node's fires at once. */
const longestTimerMs = 2 ** 31 - 1;
