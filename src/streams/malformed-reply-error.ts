/** A reply that does not follow the interface: cut, not JSON, not base64, or of another shape. */
import { TroubleError } from '../errors.js';

/** Thrown by the readers of replies. The caller retries: the trouble counts as temporary unless it occurs often. */
export class MalformedReplyError extends TroubleError {
  constructor(message: string) {
    super('MALFORMED_REPLY', message);
  }
}
