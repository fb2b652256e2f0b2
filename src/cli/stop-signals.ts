/** SIGINT and SIGTERM (contract, "Signals"): the first stops resumably, the second ends at once. */
import { InterruptedError } from '../../pipelines/index.js';

export interface StopSignals {
  /** Aborted with an `InterruptedError` by the first signal. */
  readonly signal: AbortSignal;
  /** Leaves the process's signals as they were. */
  close(): void;
}

/** @param onStop called by the first signal, to say what happens now. */
export function listenForStop(onStop: (name: 'SIGINT' | 'SIGTERM') => void): StopSignals {
  const controller = new AbortController();
  const stop = (name: 'SIGINT' | 'SIGTERM') => {
    if (controller.signal.aborted) process.exit(new InterruptedError(name).exitCode);
    onStop(name);
    controller.abort(new InterruptedError(name));
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return {
    signal: controller.signal,
    close: () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
    },
  };
}
