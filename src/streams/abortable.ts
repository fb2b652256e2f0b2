/** An async iterable whose next item is not waited for once a signal has aborted. */

/**
 * The same items. A Node stream that is destroyed leaves whoever waits for its next item waiting; so does a
 * stage that is itself waiting. Once the signal aborts, its reason is thrown instead.
 */
export function abortable<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = items[Symbol.asyncIterator]();
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      const abort = () => reject(signal.reason);
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      iterator
        .next()
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', abort));
    });
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
