import { FoliopipeError } from './foliopipe-error.js';

/** Answers that cannot be trusted: balance, join or columns do not hold; nothing is published. Exit 6. */
export class UntrustedError extends FoliopipeError {
  override readonly exitCode = 6;
}
