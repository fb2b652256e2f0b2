/** An async iterable whose next item is not waited for once a signal has aborted. */

/**
 * The same items. A Node stream that is destroyed leaves whoever waits for its next item waiting; so does a
 * stage that is itself waiting. Once the signal aborts, its reason is thrown instead, and nothing more is taken.
 */
export function abortable<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]();
  let isWaiting = false;
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      const abort = () => reject(signal.reason);
      if (signal.aborted) return abort();
      const come = () => {
        isWaiting = false;
        signal.removeEventListener('abort', abort);
      };
      signal.addEventListener('abort', abort, { once: true });
      isWaiting = true;
      iterator.next().then(
        (result) => {
          come();
          resolve(result);
        },
        (error: unknown) => {
          come();
          reject(error);
        },
      );
    });
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        const closed = Promise.resolve(iterator.return?.());
        // A generator closes only when its next item has come, and after an abort that may be never.
        if (signal.aborted && isWaiting) closed.catch(() => undefined);
        else await closed;
        return { done: true, value: undefined };
      },
    }),
  };
}
