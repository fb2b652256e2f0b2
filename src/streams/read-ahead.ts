/** Lets a stage work on its next item while the one after it is at work on the last. */

/**
 * The same items in the same order; each is asked for as soon as the one before it is taken. Items must not be
 * changed by their source later.
 */
export async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const items = source[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = items.next();
    // Whoever comes to it hears of it; nobody may.
    asked.catch(() => undefined);
    return asked;
  };
  let isAtEnd = false;
  try {
    for (let ahead = ask(); ; ) {
      const item = await ahead;
      isAtEnd = item.done === true;
      if (item.done) return;
      ahead = ask();
      yield item.value;
    }
  } finally {
    if (!isAtEnd) await items.return?.();
  }
}
