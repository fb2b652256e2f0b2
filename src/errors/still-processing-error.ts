import { FoliopipeError } from './foliopipe-error.js';

/** Folios are still processing and nobody wanted to wait for them. Exit 10. */
export class StillProcessingError extends FoliopipeError {
  override readonly exitCode = 10;
}
