/** A bounded concurrent map whose work may add more items. Added items go before the next items of the source. */
import { mapConcurrent } from './map-concurrent.js';

/** Adds items, in this order, before all waiting items. */
export type AddItems<In> = (...items: readonly In[]) => void;

/**
 * Works like `mapConcurrent`, which runs it. Ends when the source has ended and no running work can add items.
 * @param work may add items until its promise settles.
 */
export function mapGrowing<In, Out>(
  source: AsyncIterable<In>,
  concurrency: number,
  work: (item: In, add: AddItems<In>) => Promise<Out | undefined>,
  controller?: AbortController,
): AsyncGenerator<Out> {
  const added: In[] = [];
  let inWork = 0;
  let wake = () => {};
  const begin = (item: In) => {
    inWork += 1;
    return item;
  };
  const items = async function* () {
    for await (const item of source) {
      while (added.length > 0) yield begin(added.shift()!);
      yield begin(item);
    }
    for (;;) {
      while (added.length > 0) yield begin(added.shift()!);
      if (inWork === 0) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const workAndWake = async (item: In) => {
    try {
      return await work(item, (...more) => void added.unshift(...more));
    } finally {
      inWork -= 1;
      wake();
    }
  };
  return mapConcurrent(items(), concurrency, workAndWake, controller);
}
