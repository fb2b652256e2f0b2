/** A signal for work that is paid for: it ends after a time, and follows another signal only after a grace. */
import type { Milliseconds } from '../types.js';

export interface DeadlineTimes {
  /** For the whole of the work. */
  readonly time: Milliseconds;
  /** What is left to work that has begun when the other signal aborts. */
  readonly grace: Milliseconds;
}

/**
 * Runs `work` under such a signal; timers and listener are gone when it has ended.
 * @throws the signal's reason when that is aborted already: nothing begins then.
 */
export async function withDeadline<T>(
  { time, grace }: DeadlineTimes,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const timers = [
    setTimeout(() => {
      controller.abort(Object.assign(new Error(`not done after ${time} ms`), { code: 'TIMEOUT' }));
    }, time),
  ];
  const forward = (): void => {
    timers.push(setTimeout(() => controller.abort(signal.reason), grace));
  };
  signal.addEventListener('abort', forward, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    timers.forEach(clearTimeout);
    signal.removeEventListener('abort', forward);
  }
}
