/** What can go wrong with one attempt at an operation, in the words of law 3: how far did the request get? */
import type { Milliseconds } from '../types.js';

/** The four operations of the interface (section 4). */
export type Operation = 'upload' | 'track' | 'download' | 'search';

/** Messages are cleaned for people: without control characters, short, and never with the token. */
export type Failure =
  /** Nothing of the request left this machine: no address, refused, no TLS. */
  | { readonly kind: 'unsent'; readonly code: string; readonly message: string }
  /** Cut or timed out after the request began. */
  | { readonly kind: 'cut'; readonly code: string; readonly message: string }
  /** The service's certificate does not verify; nothing was sent. */
  | { readonly kind: 'certificate'; readonly code: string; readonly message: string }
  /** A reply with a status that is no success. */
  | {
      readonly kind: 'status';
      readonly status: number;
      /** Time the service asks us to wait, where a 429 or 503 says so. */
      readonly retryAfter: Milliseconds | null;
      /** Whether the body is one of the service: a JSON object with `message` or `response`. A proxy's is none. */
      readonly fromService: boolean;
      readonly message: string;
    }
  /** A reply of success that is cut, not JSON or of another shape than promised. */
  | { readonly kind: 'malformed'; readonly message: string };

/** Carries a failure from the attempt to the loop that judges it; never leaves this folder. */
export class AttemptError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'AttemptError';
    this.failure = failure;
  }
}
