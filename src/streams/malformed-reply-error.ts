/** A reply that does not follow the interface: cut, not JSON, not base64, or of another shape. */
import { TroubleError } from '../errors.js';

/** Thrown by the readers of replies. The caller retries: the trouble counts as temporary unless it occurs often. */
export class MalformedReplyError extends TroubleError {
  /**
   * How a reply breaks the interface although it is complete and has the outer form of a reply; else null. Trying again
   * may never help.
   */
  readonly breach: string | null;

  constructor(message: string, breach: string | null = null) {
    super('MALFORMED_REPLY', message);
    this.breach = breach;
  }
}
