/** The port to the lock of a pipeline: one writer a pipeline (rule "One writer"). */
import { type ErrorFacts, LockedError } from '../errors.js';

/** Locks of all pipelines of one state. */
export interface PipelineLock {
  /**
   * Takes the lock of a pipeline without waiting.
   * @param pipeline its name, `[A-Za-z0-9._-]{1,64}` (checked by the config).
   * @param holder this process, shown to others while the lock is held.
   * @throws LockedError `PIPELINE_LOCKED`, naming the holder where it is known.
   */
  take(pipeline: string, holder: LockHolder): Promise<HeldLock>;
}

/** A lock is free again when it is closed, or when its process ends, however that ends. */
export interface HeldLock {
  /** Closing twice does nothing more. */
  close(): Promise<void>;
}

/** Who holds a lock, for people to read: it proves nothing, only the lock does. */
export interface LockHolder {
  readonly pid: number;
  /** The command as it may be shown. */
  readonly command: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** The error of a lock that is held. */
export function lockedError(pipeline: string, holder: LockHolder | undefined): LockedError {
  if (holder === undefined) {
    return locked(`another process runs the pipeline ${pipeline}`, { pipeline });
  }
  const { pid, command } = holder;
  const since = new Date(holder.since).toISOString();
  const message = `process ${pid} (${command}) has been running the pipeline ${pipeline} since ${since}`;
  return locked(message, { pipeline, pid, command, since });
}

function locked(message: string, facts: ErrorFacts): LockedError {
  return new LockedError('PIPELINE_LOCKED', message, { facts });
}
