/**
 * Circuit breaker for paid requests. A request whose reply cannot be read may be paid for without a result, so three
 * such replies in a row open the breaker and stop the requests. A reply that can be read closes it again.
 */
import { AmbiguousUploadError } from '../../errors.js';

export interface ReplyBreaker {
  /** Unreadable replies since the last readable one. */
  readonly unreadable: number;
  /** Whether there are so many that it is no accident. */
  readonly isOpen: boolean;
  /** Whether another request may be sent. Where an earlier process has opened the breaker, one is, as a trial. */
  readonly allowsRequest: boolean;
  /** Passes the outcome of a request on, once it is counted: code that awaits it sees the new count. */
  watch<T>(request: Promise<T>): Promise<T>;
}

/** @param unreadable the count that earlier processes have left; where it opens the breaker, one trial is allowed. */
export function createReplyBreaker(unreadable: number): ReplyBreaker {
  let limit = Math.max(threshold, unreadable + 1);
  return {
    get unreadable() {
      return unreadable;
    },
    get isOpen() {
      return unreadable >= threshold;
    },
    get allowsRequest() {
      return unreadable < limit;
    },
    watch: async (request) => {
      try {
        const result = await request;
        unreadable = 0;
        limit = threshold;
        return result;
      } catch (error) {
        if (error instanceof AmbiguousUploadError && error.doubt === 'unreadable') unreadable += 1;
        throw error;
      }
    },
  };
}

const threshold = 3;
