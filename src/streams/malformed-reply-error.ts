/** A reply that is not what the interface promises: cut, not JSON, not base64, or of another shape. */
import { TroubleError } from '../errors.js';

/** The reader of a reply throws it, and the caller asks again: it is passing trouble until it has come often. */
export class MalformedReplyError extends TroubleError {
  constructor(message: string) {
    super('MALFORMED_REPLY', message);
  }
}
