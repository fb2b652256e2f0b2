/** SIGINT, SIGTERM and SIGHUP (docs/resume.md): the first one stops resumably, the second ends at once. */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { InterruptedError, type StopSignal } from '../../pipelines/index.js';

export interface StopSignals {
  /** Aborted with an `InterruptedError` by the first signal. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  close(): void;
}

const names: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** @param onStop called by the first signal, to say what happens now. */
export function listenForStop(onStop: (name: StopSignal) => void): StopSignals {
  const controller = new AbortController();
  const ignoresHangup = isUnderNohup();
  const stop = (name: StopSignal) => {
    const isStopped = controller.signal.aborted;
    // The system and the shell both send SIGHUP for a closed terminal, and systemd sends it after SIGTERM:
    // a second signal of this kind does not mean that somebody wants to end at once.
    if (name === 'SIGHUP' && (ignoresHangup || isStopped)) return;
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

/** What the first signal does to a run, and how to stop at once. */
export function stopText(name: StopSignal): string {
  return `${name}: stopping. Waiting for uploads in flight (they are paid for).${stopAtOnce[name]}`;
}

const stopAtOnce: Readonly<Record<StopSignal, string>> = {
  SIGINT: ' Press Ctrl-C again to stop at once.',
  SIGTERM: ' Send it again to stop at once.',
  // A second one is ignored.
  SIGHUP: '',
};

/**
 * Whether this process was started to ignore SIGHUP, as `nohup foliopipe run` does. Node gives every ignored signal
 * its default action back, and nothing shows afterwards which ones were ignored. So nohup is recognised by its other
 * traces: the variable `_`, in which the shell passes on the name of the program that it started; and, with GNU nohup
 * on a terminal, a stdin that can only be written.
 */
export function isUnderNohup(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return basename(env._ ?? '') === 'nohup' || isStdinOfNohup();
}

function isStdinOfNohup(): boolean {
  try {
    if (readlinkSync('/proc/self/fd/0') !== '/dev/null') return false;
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8')) ?? [];
    // The two lowest bits are the access mode; 1 means write-only.
    return (Number.parseInt(flags, 8) & 3) === 1;
  } catch {
    // These files exist only on Linux.
    return false;
  }
}
