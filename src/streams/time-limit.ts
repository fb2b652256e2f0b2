/** Signals that end work early: after a time, or with the first of several. */
import { setMaxListeners } from 'node:events';
import type { Milliseconds } from '../types.js';

/**
 * A signal that aborts when the given one does, or after the time, then with a `TimeoutError`. It keeps no process alive.
 */
export function withTimeLimit(signal: AbortSignal, time: Milliseconds): AbortSignal {
  const timeUp = AbortSignal.timeout(time);
  // `AbortSignal.any` does not keep it: without a listener, the garbage collector removes it, and it never aborts.
  timeUp.addEventListener('abort', () => undefined);
  return AbortSignal.any([signal, timeUp]);
}

/**
 * Does work under a signal that aborts with the first of these. When the work has ended, nothing is left with them, as
 * `AbortSignal.any` would leave something on Node 20: they may last for hours.
 */
export async function withAnySignal<T>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const end = () => controller.abort(signals.find(({ aborted }) => aborted)!.reason);
  // Avoids a warning: much work may listen to the same signal, such as parts of one folio that wait for a permit.
  setMaxListeners(0, controller.signal, ...signals);
  for (const signal of signals) signal.addEventListener('abort', end, { once: true });
  try {
    if (signals.some(({ aborted }) => aborted)) end();
    return await work(controller.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', end);
  }
}
