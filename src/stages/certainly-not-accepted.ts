/** Whether a paid request that ended with an error certainly does not count (law 3). */
import { AmbiguousUploadError, FoliopipeError } from '../errors/index.js';

/** The port promises it for every error but one; what is none of ours is a fault that proves nothing. */
export function isCertainlyNotAccepted(error: unknown, signal: AbortSignal): boolean {
  if (error instanceof AmbiguousUploadError) return false;
  return error instanceof FoliopipeError || (signal.aborted && error === signal.reason);
}
