/** Handles SIGINT, SIGTERM and SIGHUP (docs/resume.md): the first signal stops the run resumably, the second ends it. */

import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { InterruptedError, type StopSignal } from '../../pipelines/index.js';
import { isOfWorker } from './texts/next-steps.js';

export interface StopSignals {
  /** Aborted with an `InterruptedError` by the first signal. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  close(): void;
}

const names: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * @param onStop called at the first signal, to say what happens now.
 * @param onEnd called at the second one, just before the process ends.
 */
export function listenForStop(
  onStop: (name: StopSignal) => void,
  onEnd: (end: InterruptedError) => void = () => undefined,
): StopSignals {
  const controller = new AbortController();
  const ignoresHangup = isUnderNohup();
  const stop = (name: StopSignal) => {
    const isStopped = controller.signal.aborted;
    // Both the system and the shell send SIGHUP for a closed terminal, and systemd sends it after SIGTERM. So a second
    // SIGHUP does not mean that the user wants to end at once.
    if (name === 'SIGHUP' && (ignoresHangup || isStopped)) return;
    if (isStopped) {
      const end = new InterruptedError(name);
      onEnd(end);
      process.exit(end.exitCode);
    }
    onStop(name);
    controller.abort(new InterruptedError(name));
  };
  for (const name of names) process.on(name, stop);
  const closeChannel = listenForWorker(() => void (controller.signal.aborted || stop('SIGTERM')));
  return {
    signal: controller.signal,
    close: () => {
      closeChannel();
      for (const name of names) process.off(name, stop);
    },
  };
}

/**
 * A worker stops its runs by closing their channels. The system closes them too when the worker dies. The worker sends no
 * signal: some service managers send one to each process, and a second signal would end the run at once.
 */
function listenForWorker(onClosed: () => void): () => void {
  if (!isOfWorker()) return () => undefined;
  process.once('disconnect', onClosed);
  // The channel must not keep the process alive.
  process.channel?.unref();
  if (!process.connected) onClosed();
  return () => void process.off('disconnect', onClosed);
}

/** Does the work of a command that prints nothing when it is stopped. `signal` aborts at the first of these signals. */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = listenForStop(() => undefined);
  try {
    return await work(stop.signal);
  } finally {
    stop.close();
  }
}

/** Says what the first signal does, and how to stop at once. */
export function stopText(name: StopSignal): string {
  return `${name}: stopping. Waiting for uploads in flight (they are paid for).${stopAtOnce[name]}`;
}

const stopAtOnce: Readonly<Record<StopSignal, string>> = {
  SIGINT: ' Press Ctrl-C again to stop at once.',
  SIGTERM: ' Send it again to stop at once.',
  // A second SIGHUP is ignored.
  SIGHUP: '',
};

/**
 * Whether this process was started to ignore SIGHUP, as `nohup foliopipe run` does. Node resets every ignored signal to
 * its default action, so a process cannot see which signals were ignored. Other facts show nohup: the variable `_`, which
 * the shell sets to the name of the program that it starts; and, with GNU nohup on a terminal, a write-only stdin.
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
