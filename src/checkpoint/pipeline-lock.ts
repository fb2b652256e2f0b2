/** The port to the lock of a pipeline, which allows one writer (rule "One writer"). */
import { type ErrorDetails, type ErrorFacts, InterruptedError, LockedError } from '../errors.js';
import type { Milliseconds } from '../types.js';

/** The locks of all pipelines that share a state. */
export interface PipelineLock {
  /**
   * Takes the lock of a pipeline without waiting.
   * @param pipeline its name, `[A-Za-z0-9._-]{1,64}` (checked by the config).
   * @param holder this process, shown to others while the lock is held.
   * @throws LockedError `PIPELINE_LOCKED`, which names the holder if it is known.
   */
  take(pipeline: string, holder: LockHolder): Promise<HeldLock>;
}

/** A held lock. It becomes free when it is closed, or when its process ends in any way. */
export interface HeldLock {
  /**
   * Aborts, with a LockedError, when the lock has passed, or may pass, to another process. Left out for a lock of the
   * operating system, which never passes.
   */
  readonly lost?: AbortSignal;
  /** Asks whether the lock is still held, just before a change outside of the checkpoint. @throws LockedError. */
  expectHeld?(): Promise<void>;
  /**
   * Whether the lock is certainly still held, judged without a request: after a pause of this process, another one may
   * have it. Left out if it never passes.
   */
  isHeld?(): boolean;
  /**
   * The clock of all machines that share the state, in epoch milliseconds. Budgets and ages use it. Left out: the
   * system's clock.
   */
  now?(): number;
  /** A second call does nothing. */
  close(): Promise<void>;
}

/** The holder of a lock, shown to people. Only the lock itself proves that it is held. */
export interface LockHolder {
  readonly pid: number;
  /** The command, without secrets. */
  readonly command: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** The machine, if it may be another one. */
  readonly host?: string;
}

/** The process that works on a pipeline. */
export interface WorkingProcess extends LockHolder {
  /** How long its lease lasts unless it is renewed. Left out for a lock of the system, which ends with the process. */
  readonly leaseLeftMs?: Milliseconds;
  /** How long ago it last renewed its lease. Left out while its renewals are on time. */
  readonly leaseSilentMs?: Milliseconds;
}

/** A lease is held. Its holder renews it while it works; if it does not, the lease ends by itself. */
export class LeaseHeldError extends LockedError {
  /** The end of the lease, as a text that changes when it is renewed. */
  readonly until: string;
  /** How long it lasts unless it is renewed. */
  readonly leftMs: Milliseconds;

  constructor(
    code: string,
    message: string,
    details: ErrorDetails,
    { until, leftMs }: { readonly until: string; readonly leftMs: Milliseconds },
  ) {
    super(code, message, details);
    this.until = until;
    this.leftMs = leftMs;
  }
}

/**
 * The error for a lock that is held.
 * @param isOurs this process holds it, for example for a run that it has not closed.
 */
export function lockedError(pipeline: string, holder: LockHolder | undefined, isOurs = false): LockedError {
  const here = isOurs && { here: true };
  if (holder === undefined) {
    const who = isOurs ? 'this process' : 'another process';
    return locked(`${who} runs the pipeline ${pipeline}`, { pipeline, ...here });
  }
  const { pid, command, host } = holder;
  const since = new Date(holder.since).toISOString();
  const who = `${isOurs ? 'this process, ' : 'process '}${pid}${host === undefined ? '' : ` on ${host}`} (${command})${isOurs ? ',' : ''}`;
  const message = `${who} has been running the pipeline ${pipeline} since ${since}`;
  return locked(message, { pipeline, pid, command, since, ...(host !== undefined && { host }), ...here });
}

function locked(message: string, facts: ErrorFacts): LockedError {
  return new LockedError('PIPELINE_LOCKED', message, { facts });
}

/**
 * @returns the loss of the lock in place of the error, if this process was paused: what the next process has changed
 *   since looks like a fault.
 */
export async function lossOr(
  lock: Pick<HeldLock, 'isHeld' | 'expectHeld'>,
  error: unknown,
): Promise<unknown> {
  if (lock.isHeld?.() !== false || error instanceof InterruptedError) return error;
  return (await lock.expectHeld?.().catch((loss: unknown) => loss)) ?? error;
}
