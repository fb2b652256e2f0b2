/** Gathers items for a short time, so that work on them together is done once. */
import type { Milliseconds } from '../types.js';

/** Passes items on, several together. */
interface Gathered<T> {
  /** Resolves when the work on the item, and on those with it, has ended; throws its error. */
  add(item: T): Promise<void>;
  /** Begins the work on what waits now. */
  flush(): void;
}

/**
 * @param work is given the items, in the order in which they were added. Several calls may be in progress at once.
 * @param time how long an item waits for others, at most.
 * @param most items come together, at most.
 */
export function gather<T>(
  work: (items: readonly T[]) => Promise<void>,
  { time, most }: { readonly time: Milliseconds; readonly most: number },
): Gathered<T> {
  let batch: Batch<T> | undefined;
  const flush = (): void => {
    const begun = batch;
    batch = undefined;
    begun?.begin();
  };
  const open = (): Batch<T> => {
    const items: T[] = [];
    const timer = setTimeout(flush, time);
    let begin!: () => void;
    const done = new Promise<void>((resolve) => {
      begin = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => work(items));
    return { items, begin, done };
  };
  return {
    add: (item) => {
      batch ??= open();
      const { items, done } = batch;
      items.push(item);
      if (items.length >= most) flush();
      return done;
    },
    flush,
  };
}

interface Batch<T> {
  readonly items: T[];
  readonly begin: () => void;
  /** Resolves when the work has ended. */
  readonly done: Promise<void>;
}
