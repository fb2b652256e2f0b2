/**
 * Gives the items of batches one by one, as an AsyncGenerator does, but without a promise chain for each of them.
 * Invariant: calls of `next` are answered in their order, however many wait; after an error, nothing more is given.
 */
import { types } from 'node:util';

/**
 * @param batches asked for its next batch when all items of the last one were given. It has ended before an error of
 *   `change` is thrown, and before `return` resolves.
 * @param change makes an item from the entry `at` of a batch. While its promise is pending, no other entry is changed.
 *   Left out: the entries are the items.
 */
export function oneByOne<Batch extends { readonly rows: readonly unknown[] }, Item = Batch['rows'][number]>(
  batches: AsyncGenerator<Batch>,
  change: ((batch: Batch, at: number) => Item | Promise<Item>) | undefined,
): AsyncGenerator<Item, void, undefined> {
  type Result = IteratorResult<Item, void>;
  let batch: Batch | undefined;
  let at = 0;
  let hasEnded = false;
  /** The last call that waits. */
  let last: Promise<unknown> | undefined;

  const take = (): Result | Promise<Result> => {
    const index = at++;
    if (change === undefined) return { done: false, value: batch!.rows[index] as Item };
    const item = change(batch!, index);
    return types.isPromise(item)
      ? item.then((value) => ({ done: false, value }))
      : { done: false, value: item as Item };
  };
  const waitFor = async (taken: () => Result | Promise<Result>): Promise<Result> => {
    try {
      return await taken();
    } catch (error) {
      await end();
      throw error;
    }
  };
  const takeNext = async (): Promise<Result> => {
    while (!hasEnded && (batch === undefined || at >= batch.rows.length)) {
      const { done, value } = await batches.next();
      if (done) hasEnded = true;
      else [batch, at] = [value, 0];
    }
    return hasEnded ? ended() : waitFor(take);
  };
  const afterLast = (call: () => Promise<Result>): Promise<Result> => {
    const answer = last === undefined ? call() : last.then(call, call);
    last = answer;
    const forget = () => {
      if (last === answer) last = undefined;
    };
    answer.then(forget, forget);
    return answer;
  };
  const end = async (): Promise<Result> => {
    hasEnded = true;
    batch = undefined;
    await batches.return(undefined);
    return ended();
  };
  const iterator = {
    next: (): Promise<Result> => {
      if (last !== undefined || batch === undefined || at >= batch.rows.length) return afterLast(takeNext);
      let taken: Result | Promise<Result>;
      try {
        taken = take();
      } catch (error) {
        taken = Promise.reject(error);
      }
      if (!types.isPromise(taken)) return Promise.resolve(taken);
      const pending = taken;
      return afterLast(() => waitFor(() => pending));
    },
    // Does not wait for earlier calls: the item that they wait for may never come.
    return: end,
    throw: async (error: unknown) => {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      await end();
    },
  };
  return iterator as AsyncGenerator<Item, void, undefined>;
}

function ended(): IteratorReturnResult<void> {
  return { done: true, value: undefined };
}
