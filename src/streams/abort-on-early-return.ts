/** Tells a stage at once that its consumer returned early, as a Node stream does when it is destroyed. */

/**
 * Gives the same items. The consumer's `return` aborts the controller before it reaches the generator: a generator that
 * waits for its next item, or for work that takes hours, would not notice the `return`.
 * @param controller aborted when the consumer ends before the items do, with the consumer's error if it has one.
 */
export function abortOnEarlyReturn<T>(
  items: AsyncGenerator<T>,
  controller: AbortController,
): AsyncGenerator<T> {
  let ended = false;
  const abort = (reason: unknown) => {
    if (!ended) controller.abort(reason);
    ended = true;
  };
  const generator: AsyncGenerator<T> = {
    next: async () => {
      try {
        const result = await items.next();
        if (result.done) ended = true;
        return result;
      } catch (error) {
        ended = true;
        throw error;
      }
    },
    return: (value) => {
      abort(undefined);
      return items.return(value);
    },
    throw: (error) => {
      abort(error);
      return items.throw(error);
    },
    [Symbol.asyncIterator]: () => generator,
  };
  return generator;
}
