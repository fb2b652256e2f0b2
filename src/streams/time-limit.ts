/** Signals that end work after a time. */
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
