/** A reply that is not what the interface promises: cut, not JSON, not base64, or of another shape. */
import { TroubleError } from '../errors.js';

/** Passing trouble until it has been seen often: the reader of a reply throws it, the caller asks again. */
export class MalformedReplyError extends TroubleError {
  constructor(message: string) {
    super('MALFORMED_REPLY', message);
  }
}
