import { FoliopipeError } from './foliopipe-error.js';

/** The source is missing, unreadable, malformed or changed. Exit 4. */
export class SourceError extends FoliopipeError {
  override readonly exitCode = 4;
}
