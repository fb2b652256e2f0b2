/** An async iterable that stops waiting for its next item when a signal aborts. */

/**
 * Gives the same items until the signal aborts, then throws the signal's reason and stops reading. Without it, the call
 * for the next item would never settle if the source is a destroyed Node stream or a stage that waits.
 */
export function abortable<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]();
  let isWaiting = false;
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      isWaiting = true;
      const settle = () => {
        isWaiting = false;
        signal.removeEventListener('abort', onAbort);
      };
      iterator.next().then(
        (result) => {
          settle();
          resolve(result);
        },
        (error: unknown) => {
          settle();
          reject(error);
        },
      );
    });
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        const closed = Promise.resolve(iterator.return?.());
        // A generator closes only after its next item has come, which may never happen after an abort.
        if (signal.aborted && isWaiting) closed.catch(() => undefined);
        else await closed;
        return { done: true, value: undefined };
      },
    }),
  };
}
