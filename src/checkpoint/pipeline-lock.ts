/** The port to the lock of a pipeline, which allows one writer (rule "One writer"). */
import { type ErrorFacts, LockedError } from '../errors.js';

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
}

/**
 * The error for a lock that is held.
 * @param isOurs this process holds it, such as by a run that it has not closed.
 */
export function lockedError(pipeline: string, holder: LockHolder | undefined, isOurs = false): LockedError {
  const here = isOurs && { here: true };
  if (holder === undefined) {
    const who = isOurs ? 'this process' : 'another process';
    return locked(`${who} runs the pipeline ${pipeline}`, { pipeline, ...here });
  }
  const { pid, command } = holder;
  const since = new Date(holder.since).toISOString();
  const who = `${isOurs ? 'this process, ' : 'process '}${pid} (${command})${isOurs ? ',' : ''}`;
  const message = `${who} has been running the pipeline ${pipeline} since ${since}`;
  return locked(message, { pipeline, pid, command, since, ...here });
}

function locked(message: string, facts: ErrorFacts): LockedError {
  return new LockedError('PIPELINE_LOCKED', message, { facts });
}
