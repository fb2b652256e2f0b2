/** SIGINT, SIGTERM and SIGHUP (contract, "Signals"): the first stops resumably, the second ends at once. */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { InterruptedError, type StopSignal } from '../../pipelines/index.js';

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

// Whether this process was started so that SIGHUP is nothing to it: `nohup foliopipe run`.

/**
 * Node gives every signal that was ignored when it began its default action back, and nothing tells afterwards which
 * one was. So nohup is known by what else it leaves: the name by which the shell has started it, handed down in the
 * environment as an ignored signal is; and, where stdin was a terminal, a stdin that can only be written (GNU).
 */
export function isUnderNohup(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return basename(env._ ?? '') === 'nohup' || isStdinOfNohup();
}

function isStdinOfNohup(): boolean {
  try {
    if (readlinkSync('/proc/self/fd/0') !== '/dev/null') return false;
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8')) ?? [];
    // Of the two lowest bits 1 is "to be written only".
    return (Number.parseInt(flags, 8) & 3) === 1;
  } catch {
    // Only Linux has these files.
    return false;
  }
}
