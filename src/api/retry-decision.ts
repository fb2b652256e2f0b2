/**
 * Decides whether a failed attempt is retried; pure. Rule "Paid requests are not retried blindly"
 * (docs/architecture.md#paid-requests-are-not-retried-blindly): a paid POST is retried only if it was certainly not
 * accepted.
 */
import type { Doubt, Milliseconds } from '../types.js';
import { type Failure, isRedirect, isThrottle } from './failure.js';
import { isPaid, type Operation } from './requests.js';

export type Decision =
  /** Try again after the time that the service asked for; null: after the usual back-off. */
  | { readonly kind: 'retry'; readonly after: Milliseconds | null }
  /** A paid POST that may or may not have been accepted. */
  | { readonly kind: Doubt }
  /** The service rejects the request and would reject it again. */
  | { readonly kind: 'refused' }
  /** The service has said often and long enough that it does not know the folio or part. */
  | { readonly kind: 'lost' }
  /** The service has answered often and long enough with the same reply that breaks the interface. */
  | { readonly kind: 'broken' }
  /** This machine cannot send, and a retry would not help soon. */
  | { readonly kind: 'local' }
  /** A person must change the config or the machine. */
  | { readonly kind: 'misconfigured' };

const RETRY: Decision = { kind: 'retry', after: null };
const REFUSED: Decision = { kind: 'refused' };

/**
 * @param isLostIfMissing whether a folio or part counts as lost if this failure says that it does not exist.
 * @param isBroken whether the service has broken the interface in the same way often and long enough.
 */
export function decideRetry(
  operation: Operation,
  failure: Failure,
  isLostIfMissing: boolean,
  isBroken = false,
): Decision {
  const isPost = isPaid(operation);
  switch (failure.kind) {
    case 'unsent':
      return RETRY;
    case 'local':
      return { kind: 'local' };
    case 'misconfigured':
      return { kind: 'misconfigured' };
    case 'cut':
      return isPost ? { kind: 'no-reply' } : RETRY;
    case 'malformed':
      if (isPost) return { kind: 'unreadable' };
      return isBroken ? { kind: 'broken' } : RETRY;
    case 'status':
      break;
  }
  const { status, retryAfter } = failure;
  if (isThrottle(status)) return { kind: 'retry', after: retryAfter };
  if (status === 408 || status === 425) return RETRY;
  if (!isPost && isGone(status)) return isLostIfMissing && isMissing(failure) ? { kind: 'lost' } : RETRY;
  if (operation === 'download' && status === 409) return RETRY;
  // Many services accept a POST and then redirect to a page that shows the result.
  if (isRedirect(status)) return isPost ? { kind: 'redirected' } : REFUSED;
  // Not implemented: the service has done nothing and will do nothing later.
  if (status === 501 && isPost) return REFUSED;
  if (status >= 400 && status <= 499) return REFUSED;
  return isPost ? { kind: 'no-reply' } : RETRY;
}

/** Replies of one call that mean the same: a folio or part does not exist, or the reply breaks the interface. */
export interface SameReplies {
  readonly count: number;
  /** Time from the first of them to the last. */
  readonly duration: Milliseconds;
}

/** A few replies never suffice to give up on a paid folio, because the waits between them may be long. */
const MIN_REPLIES = 6;

/** Whether there were enough such replies, for long enough: a failover takes minutes; a part may be listed too early. */
export function isConclusive({ count, duration }: SameReplies, lostAfter: Milliseconds): boolean {
  return count >= MIN_REPLIES && duration >= lostAfter;
}

/** Whether the service itself says that the folio or part does not exist. A proxy's page proves nothing. */
export function isMissing(failure: Failure): boolean {
  return failure.kind === 'status' && isGone(failure.status) && failure.fromService;
}

function isGone(status: number): boolean {
  return status === 404 || status === 410;
}
