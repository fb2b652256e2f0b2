import { FoliopipeError } from './foliopipe-error.js';

/** The service refuses us: token, quota or file. Exit 7. */
export class RefusedError extends FoliopipeError {
  override readonly exitCode = 7;
}
