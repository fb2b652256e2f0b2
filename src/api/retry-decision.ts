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
  /** The service does not know the folio or part, and has said so often enough. */
  | { readonly kind: 'lost' }
  /** A person must change something on this side. */
  | { readonly kind: 'misconfigured' };

/**
 * How many times in a row 404 or 410 must come: a proxy's blip must not lose a paid folio, and a part may be
 * listed before it can be downloaded.
 */
const TIMES_UNTIL_LOST = { track: 5, download: 12 };

const RETRY: Decision = { kind: 'retry', after: null };
const REFUSED: Decision = { kind: 'refused' };

/** Whether the service says that it does not know what was asked for. */
export function isMissing(failure: Failure): boolean {
  return failure.kind === 'status' && (failure.status === 404 || failure.status === 410);
}

/**
 * @param timesMissing how many attempts in a row, this one included, ended with 404 or 410.
 */
export function decideRetry(operation: Operation, failure: Failure, timesMissing: number): Decision {
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
  if (!isPaid(operation) && isMissing(failure)) {
    return timesMissing >= TIMES_UNTIL_LOST[operation] ? { kind: 'lost' } : RETRY;
  }
  if (operation === 'download' && status === 409) {
    return RETRY;
  }
  // Many services answer a POST that they have accepted with a redirect to where a GET shows it.
  if (status >= 300 && status <= 399) return isPaid(operation) ? { kind: 'redirected' } : REFUSED;
  return status >= 400 && status <= 499 ? REFUSED : unclear;
}

function isPaid(operation: Operation): operation is 'upload' | 'search' {
  return operation === 'upload' || operation === 'search';
}
