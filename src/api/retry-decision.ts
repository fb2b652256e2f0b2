/** Law 3 as a pure function: what a failed attempt means. A paid POST is tried again only if it cannot count. */
import type { Doubt, Milliseconds } from '../types.js';
import type { Failure, Operation } from './failure.js';

export type Decision =
  /** Again: after the time the service asked for, or (null) after the usual back-off. */
  | { readonly kind: 'retry'; readonly after: Milliseconds | null }
  /** A paid POST of which nobody can know whether it was accepted. */
  | { readonly kind: Doubt }
  /** The service says no, and would say so again. */
  | { readonly kind: 'refused' }
  /** The service does not know the folio or part, and has said so long enough. */
  | { readonly kind: 'lost' }
  /** A person must change something on this side. */
  | { readonly kind: 'misconfigured' };

/** What the service has kept saying: that it does not know what was asked for. */
export interface Missing {
  /** Answers in a row. */
  readonly times: number;
  /** From the first of them to the last. */
  readonly lasting: Milliseconds;
}

/** However long it lasts, a few answers alone must not lose a paid folio: the waits between them may be long. */
const LEAST_TIMES_UNTIL_LOST = 6;

const RETRY: Decision = { kind: 'retry', after: null };
const REFUSED: Decision = { kind: 'refused' };

/** Whether the service itself says that it does not know what was asked for; a proxy's page says nothing of it. */
export function isMissing(failure: Failure): boolean {
  return failure.kind === 'status' && isGone(failure.status) && failure.fromService;
}

/** Whether that was said often and long enough: a failover takes minutes, and a part may be listed too early. */
export function isLost({ times, lasting }: Missing, lostAfter: Milliseconds): boolean {
  return times >= LEAST_TIMES_UNTIL_LOST && lasting >= lostAfter;
}

/**
 * @param lost whether what is asked for with a GET counts as lost where the failure says once more that it is missing.
 */
export function decideRetry(operation: Operation, failure: Failure, lost: boolean): Decision {
  const unclear: Decision = isPaid(operation) ? { kind: 'no-reply' } : RETRY;
  switch (failure.kind) {
    case 'unsent':
      return RETRY;
    case 'certificate':
      return { kind: 'misconfigured' };
    case 'cut':
      return unclear;
    case 'malformed':
      return isPaid(operation) ? { kind: 'unreadable' } : RETRY;
    case 'status':
      break;
  }
  const { status, retryAfter } = failure;
  if (status === 429 || status === 503) {
    return { kind: 'retry', after: retryAfter };
  }
  if (status === 408 || status === 425) {
    return RETRY;
  }
  if (!isPaid(operation) && isGone(status)) {
    return lost && isMissing(failure) ? { kind: 'lost' } : RETRY;
  }
  if (operation === 'download' && status === 409) {
    return RETRY;
  }
  // Many services answer a POST that they have accepted with a redirect to where a GET shows it.
  if (status >= 300 && status <= 399) return isPaid(operation) ? { kind: 'redirected' } : REFUSED;
  // Not implemented: whatever answers has done nothing, and will not do it later.
  if (status === 501 && isPaid(operation)) return REFUSED;
  return status >= 400 && status <= 499 ? REFUSED : unclear;
}

function isGone(status: number): boolean {
  return status === 404 || status === 410;
}

function isPaid(operation: Operation): operation is 'upload' | 'search' {
  return operation === 'upload' || operation === 'search';
}
