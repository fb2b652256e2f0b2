import { FoliopipeError } from './foliopipe-error.js';

/** The deadline was reached; everything bought is kept and the same command goes on. Exit 8. */
export class DeadlineError extends FoliopipeError {
  override readonly exitCode = 8;
}
