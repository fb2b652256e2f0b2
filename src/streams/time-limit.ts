/** Work that a signal ends early: after a time, or with the first of several. */
import { setMaxListeners } from 'node:events';
import type { Milliseconds } from '../types.js';

/**
 * Does work under a signal that aborts with the given one, or after the time, then with a `TimeoutError`. The timer
 * keeps no process alive.
 */
export function withTimeLimit<T>(
  signal: AbortSignal,
  time: Milliseconds,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withAnySignal([signal, AbortSignal.timeout(time)], work);
}

/**
 * Does work under a signal that aborts with the first of these. Leaves nothing attached to them when the work has ended,
 * unlike `AbortSignal.any` on Node 20: they may last for hours.
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
