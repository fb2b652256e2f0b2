import { FoliopipeError } from './foliopipe-error.js';

/** Stopped by our own guard before more is paid: budget, canary, failure rate. Exit 9. */
export class GuardError extends FoliopipeError {
  override readonly exitCode = 9;
}
