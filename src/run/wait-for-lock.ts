/** Takes a pipeline's lock, waiting for whoever holds it as long as the caller wants to. */
import { openPipelineLock } from '../checkpoint/pipeline-lock.js';
import { LockedError } from '../errors/index.js';
import type { Logger } from '../logger.js';
import type { Clock } from '../streams/clock.js';
import type { Milliseconds } from '../types.js';
import type { Closeable } from './releasers.js';

export interface LockRequest {
  readonly stateDir: string;
  readonly pipeline: string;
  readonly holder: { readonly pid: number; readonly command: string; readonly since: number };
  /** 0 does not wait; may be infinite. */
  readonly wait: Milliseconds;
}

/** @throws LockedError when the lock is still held after the wait; the signal's reason. */
export async function waitForLock(
  request: LockRequest,
  needs: { readonly clock: Clock; readonly signal: AbortSignal; readonly logger: Logger },
): Promise<Closeable> {
  const { stateDir, pipeline, holder, wait } = request;
  const { clock, signal, logger } = needs;
  const until = clock.now() + wait;
  for (let told = false; ; told = true) {
    try {
      return await openPipelineLock(stateDir, pipeline, holder);
    } catch (error) {
      const left = until - clock.now();
      if (!(error instanceof LockedError) || left <= 0) throw error;
      if (!told) logger.info({ pipeline }, `waiting for the lock: ${error.message}`);
      await clock.sleep(Math.min(lookEveryMs, left), signal);
    }
  }
}

const lookEveryMs = 1_000;
