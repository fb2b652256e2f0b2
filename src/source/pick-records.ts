/** Picks records out of a stream of batches by number: yields slices of the batches, and copies nothing. */
import type { Batch } from '../csv/batch.js';

/**
 * Yields batches that hold only the records with these numbers. Skips a number that no record has. Stops reading after
 * the last record, and requests a list of numbers only after it has yielded the records of the list before.
 *
 * @param numbers ascending, within each list and from list to list.
 */
export async function* pickRecords(
  batches: AsyncIterable<Batch>,
  numbers: AsyncIterable<readonly number[]> | Iterable<readonly number[]>,
): AsyncGenerator<Batch, void, undefined> {
  const source = batches[Symbol.asyncIterator]();
  let batch: Batch | undefined;
  try {
    for await (const wanted of numbers) {
      for (let at = 0; at < wanted.length; ) {
        const number = wanted[at]!;
        while (batch === undefined || number >= batch.firstRecord + batch.count) {
          const read: IteratorResult<Batch> = await source.next();
          if (read.done) return;
          batch = read.value;
        }
        const from = number - batch.firstRecord;
        const count = from < 0 ? 0 : consecutive(wanted, at, batch.count - from);
        if (count > 0) yield slice(batch, from, count);
        at += Math.max(count, 1);
      }
    }
  } finally {
    await source.return?.();
  }
}

/** Counts the consecutive numbers from index `from` on, at most `max`. */
function consecutive(numbers: readonly number[], from: number, max: number): number {
  let count = 1;
  while (count < max && numbers[from + count] === numbers[from]! + count) count += 1;
  return count;
}

function slice(batch: Batch, from: number, count: number): Batch {
  const { fields } = batch;
  return {
    ...batch,
    firstRecord: batch.firstRecord + from,
    count,
    starts: batch.starts.subarray(from, from + count),
    ends: batch.ends.subarray(from * fields, (from + count) * fields),
  };
}
