/**
 * Replies to paid requests that cannot be read, in a row. After one, requests go one by one, so that few are at
 * risk; after three none goes any more, for each may be paid for in vain. One that can be read ends the row.
 */
import { AmbiguousUploadError } from '../errors/index.js';

/** So many in a row are no accident. */
const FULL = 3;

export interface ReceiptRow {
  /** How many could not be read since the last that could. */
  readonly length: number;
  readonly isFull: boolean;
  /** Whether another request may be sent. */
  readonly mayGoOn: boolean;
  /** Hands on what becomes of a request, counted before anyone who waits for its end goes on. */
  count<T>(request: Promise<T>): Promise<T>;
}

/** @param length as earlier processes have left it: where it is full, this one may send a single request to see. */
export function createReceiptRow(length: number): ReceiptRow {
  let limit = Math.max(FULL, length + 1);
  return {
    get length() {
      return length;
    },
    get isFull() {
      return length >= FULL;
    },
    get mayGoOn() {
      return length < limit;
    },
    count: async (request) => {
      try {
        const result = await request;
        length = 0;
        limit = FULL;
        return result;
      } catch (error) {
        if (error instanceof AmbiguousUploadError && error.doubt === 'unreadable') length += 1;
        throw error;
      }
    },
  };
}
