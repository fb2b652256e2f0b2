import { FoliopipeError } from './foliopipe-error.js';

/** Another process holds the lock of this pipeline. Exit 11. */
export class LockedError extends FoliopipeError {
  override readonly exitCode = 11;
}
