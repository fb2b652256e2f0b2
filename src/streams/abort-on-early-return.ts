/** A stage's items for a consumer that may leave early, as a Node stream does when it is destroyed. */

/**
 * The same items. A consumer that closes them before their end aborts the controller first: a generator that is
 * itself waiting, for its next item or for work that takes hours, would not even notice that nobody listens.
 * @param controller aborted with the error that the consumer leaves with, where it has one.
 */
export function abortOnEarlyReturn<T>(items: AsyncGenerator<T>, controller: AbortController): AsyncGenerator<T> {
  let ended = false;
  const left = (reason: unknown) => {
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
      left(undefined);
      return items.return(value);
    },
    throw: (error) => {
      left(error);
      return items.throw(error);
    },
    [Symbol.asyncIterator]: () => generator,
  };
  return generator;
}
