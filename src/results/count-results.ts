/** Counts the results of a part while its bytes pass by, so that a short part is noticed before it is joined. */
import { CountKernel } from '../csv/kernel/count-kernel.js';

export interface CountedContent {
  /** The same bytes. */
  readonly content: AsyncIterable<Buffer>;
  /** Results seen so far, the header not counted; blank lines are none. */
  count(): number;
}

/**
 * Counts line ends outside quotes. That is right for every well-formed CSV; whether this one is well-formed,
 * the scanner finds out when the results are joined.
 */
export function countResults(content: AsyncIterable<Buffer>): CountedContent {
  const kernel = new CountKernel();
  const pass = async function* () {
    for await (const piece of content) {
      kernel.look(piece);
      yield piece;
    }
  };
  return { content: pass(), count: () => Math.max(kernel.lines - 1, 0) };
}
