/** A signal that aborts with another one, or after a time. */
import type { Milliseconds } from '../types.js';

/** Runs `work` under the signal; timer and listener are gone when it has ended. */
export async function withDeadline<T>(
  time: Milliseconds,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const forward = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', forward, { once: true });
  const timer = setTimeout(() => controller.abort(new Error(`not done after ${time} ms`)), time);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', forward);
  }
}
