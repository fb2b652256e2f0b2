/** Whether a paid request that ended with an error may count all the same, and why nobody knows (law 3). */
import { AmbiguousUploadError, FoliopipeError } from '../errors/index.js';
import type { Doubt } from '../types.js';

/**
 * The port promises of every error but one that the request certainly does not count; what is none of ours is a
 * fault that proves nothing.
 * @returns undefined where it certainly does not count.
 */
export function doubtOf(error: unknown, signal: AbortSignal): Doubt | undefined {
  if (error instanceof AmbiguousUploadError) return error.doubt;
  const isCertain = error instanceof FoliopipeError || (signal.aborted && error === signal.reason);
  return isCertain ? undefined : 'no-reply';
}
