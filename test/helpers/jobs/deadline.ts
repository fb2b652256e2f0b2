/** A deadline that comes when a job has reached a point, however slow the machine is. */
import type { Failpoint } from '../../../pipelines/index.js';
import { type Clock, systemClock } from '../../../src/streams/clock.js';

/** Shorter than the time after which a poll or an outage is given up, because the clock jumps to the deadline. */
const AHEAD = 50_000;
/** Nothing else in the job of a test waits as long as this. */
const LONG = 10_000;

export interface EventualDeadline {
  /** For one run. */
  readonly options: { readonly deadline: number; readonly clock: Clock };
  /** Makes the deadline pass now. */
  come(): void;
}

export function createDeadline(): EventualDeadline {
  const deadline = Date.now() + AHEAD;
  let hasCome = false;
  let wake: () => void;
  const reached = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const now = () => (hasCome ? Math.max(Date.now(), deadline) : Math.min(Date.now(), deadline - LONG));
  const sleep: Clock['sleep'] = (time, signal) =>
    time < LONG ? systemClock.sleep(time, signal) : Promise.race([reached, abortOf(signal)]);
  return {
    options: { deadline, clock: { now, sleep } },
    come: () => {
      hasCome = true;
      wake();
    },
  };
}

/** Options whose deadline comes when the run has passed each failpoint this often. They publish what is done then. */
export function deadlineAt(
  wanted: Partial<Record<Failpoint, number>>,
): EventualDeadline['options'] & { readonly publishPartial: true; at(point: Failpoint): void } {
  const { options, come } = createDeadline();
  const left = new Map(Object.entries(wanted));
  const at = (point: Failpoint) => {
    left.set(point, (left.get(point) ?? 0) - 1);
    if ([...left.values()].every((times) => times <= 0)) come();
  };
  return { ...options, publishPartial: true, at };
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
