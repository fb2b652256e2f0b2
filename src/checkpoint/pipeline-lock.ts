/** The port to the lock of a pipeline: rule "One writer", docs/architecture.md#one-writer. */

/** Who holds a lock, shown to those who find it held. */
export interface LockHolder {
  readonly pid: number;
  /** The command as it may be shown. */
  readonly command: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

export interface PipelineLock {
  /**
   * Takes the lock of a pipeline, without waiting.
   * @returns what gives the lock back.
   * @throws LockedError `PIPELINE_LOCKED`, naming the holder.
   */
  take(pipeline: string, holder: LockHolder): Promise<{ close(): Promise<void> }>;
}
