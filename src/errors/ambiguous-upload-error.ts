import type { Doubt } from '../types.js';
import { type ErrorDetails, FoliopipeError } from './foliopipe-error.js';

/**
 * A paid POST began and nobody can know whether the service accepted the file (law 3). Exit 5; 7 where the service
 * redirects, which it would do again.
 */
export class AmbiguousUploadError extends FoliopipeError {
  override readonly exitCode: 5 | 7;
  readonly doubt: Doubt;

  constructor(code: string, message: string, details: ErrorDetails & { readonly doubt: Doubt }) {
    super(code, message, details);
    this.doubt = details.doubt;
    this.exitCode = details.doubt === 'redirected' ? 7 : 5;
  }
}
