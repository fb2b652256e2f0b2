/** SIGINT, SIGTERM and SIGHUP (contract, "Signals"): the first stops resumably, the second ends at once. */
import { InterruptedError, type StopSignal } from '../../pipelines/index.js';
import { isUnderNohup } from './hang-up.js';

export interface StopSignals {
  /** Aborted with an `InterruptedError` by the first signal. */
  readonly signal: AbortSignal;
  /** Leaves the process's signals as they were. */
  close(): void;
}

const names: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** What a first signal does to a run, and how the person who sent it stops at once. */
export function stopText(name: StopSignal): string {
  return `${name}: stopping. Waiting for uploads in flight (they are paid for).${atOnce[name]}`;
}

const atOnce: Readonly<Record<StopSignal, string>> = {
  SIGINT: ' Press Ctrl-C again to stop at once.',
  SIGTERM: ' Send it again to stop at once.',
  // A second one is passed over.
  SIGHUP: '',
};

/** @param onStop called by the first signal, to say what happens now. */
export function listenForStop(onStop: (name: StopSignal) => void): StopSignals {
  const controller = new AbortController();
  const keepsOn = isUnderNohup();
  const stop = (name: StopSignal) => {
    const isStopped = controller.signal.aborted;
    // A closed terminal is told by the system and by the shell, and behind a SIGTERM by systemd: nobody wants it at once.
    if (name === 'SIGHUP' && (keepsOn || isStopped)) return;
    if (isStopped) process.exit(new InterruptedError(name).exitCode);
    onStop(name);
    controller.abort(new InterruptedError(name));
  };
  for (const name of names) process.on(name, stop);
  return {
    signal: controller.signal,
    close: () => {
      for (const name of names) process.off(name, stop);
    },
  };
}
