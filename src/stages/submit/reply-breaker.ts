/**
 * Circuit breaker for paid requests. If a reply cannot be read, its request may be paid for without a result. So three
 * unreadable replies in a row open the breaker, which stops the requests. A readable reply closes it again.
 */
import { AmbiguousUploadError } from '../../errors.js';

export interface ReplyBreaker {
  /** Unreadable replies since the last readable one. */
  readonly unreadable: number;
  /** Whether there were too many unreadable replies in a row. */
  readonly isOpen: boolean;
  /** Whether another request may be sent. If an earlier process opened the breaker, one trial request is allowed. */
  readonly allowsRequest: boolean;
  /** Counts the outcome of a request and passes it on. The count is up to date before the caller sees the outcome. */
  watch<T>(request: Promise<T>): Promise<T>;
}

/** @param unreadable the count left by earlier processes; if it opens the breaker, one trial request is allowed. */
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
