/**
 * A bounded concurrent map whose work may add items to be mapped too. Added items go before what the source gives
 * next.
 */
import { mapConcurrent } from './map-concurrent.js';

/** Adds items before all that wait, in this order. */
export type AddItems<In> = (...items: readonly In[]) => void;

/**
 * As `mapConcurrent`, which runs it. It ends when the source has ended and no work that could add items is running.
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
