/**
 * What a failed attempt means, as a pure function. Rule "Paid requests are not retried blindly"
 * (docs/architecture.md#paid-requests-are-not-retried-blindly): a paid POST is tried again only if it was certainly
 * not accepted.
 */
import type { Doubt, Milliseconds } from '../types.js';
import type { Failure, Operation } from './failure.js';

export type Decision =
  /** Try again: after the time that the service asked for, or (null) after the usual back-off. */
  | { readonly kind: 'retry'; readonly after: Milliseconds | null }
  /** A paid POST that may or may not have been accepted. */
  | { readonly kind: Doubt }
  /** The service rejects the request, and would reject it again. */
  | { readonly kind: 'refused' }
  /** The service has said for long enough that it does not know the folio or part. */
  | { readonly kind: 'lost' }
  /** A person must change something on this side. */
  | { readonly kind: 'misconfigured' };

const RETRY: Decision = { kind: 'retry', after: null };
const REFUSED: Decision = { kind: 'refused' };

/** @param lost whether a GET's folio or part counts as lost when this failure says again that it is missing. */
export function decideRetry(operation: Operation, failure: Failure, lost: boolean): Decision {
  const isPaid = operation === 'upload' || operation === 'search';
  switch (failure.kind) {
    case 'unsent':
      return RETRY;
    case 'certificate':
      return { kind: 'misconfigured' };
    case 'cut':
      return isPaid ? { kind: 'no-reply' } : RETRY;
    case 'malformed':
      return isPaid ? { kind: 'unreadable' } : RETRY;
    case 'status':
      break;
  }
  const { status, retryAfter } = failure;
  if (status === 429 || status === 503) return { kind: 'retry', after: retryAfter };
  if (status === 408 || status === 425) return RETRY;
  if (!isPaid && isGone(status)) return lost && isMissing(failure) ? { kind: 'lost' } : RETRY;
  if (operation === 'download' && status === 409) return RETRY;
  // Many services answer a POST that they have accepted with a redirect to where a GET shows it.
  if (status >= 300 && status <= 399) return isPaid ? { kind: 'redirected' } : REFUSED;
  // Not implemented: the server has done nothing, and will not do it later.
  if (status === 501 && isPaid) return REFUSED;
  if (status >= 400 && status <= 499) return REFUSED;
  return isPaid ? { kind: 'no-reply' } : RETRY;
}

/** The service's replies that what was asked for does not exist. */
export interface Missing {
  readonly times: number;
  /** From the first of them to the last. */
  readonly lasting: Milliseconds;
}

/** Also after a long time a few replies are not enough to lose a paid folio: the waits between them may be long. */
const LEAST_TIMES_UNTIL_LOST = 6;

/** Whether it was said often and long enough: a failover takes minutes, and a part may be listed too early. */
export function isLost({ times, lasting }: Missing, lostAfter: Milliseconds): boolean {
  return times >= LEAST_TIMES_UNTIL_LOST && lasting >= lostAfter;
}

/** Whether the service itself says that what was asked for does not exist. A proxy's page proves nothing. */
export function isMissing(failure: Failure): boolean {
  return failure.kind === 'status' && isGone(failure.status) && failure.fromService;
}

function isGone(status: number): boolean {
  return status === 404 || status === 410;
}
