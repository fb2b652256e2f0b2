import { FoliopipeError } from './foliopipe-error.js';

/** Passing trouble (an outage, a full disk, a slow folio): the same command again goes on. Exit 5. */
export class TroubleError extends FoliopipeError {
  override readonly exitCode = 5;
}
