/** Turns a chain of stages into an async iterable. The chain waits until its consumer asks for the next item. */
import { abortOnEarlyReturn } from './abortable.js';
import type { SinkStage } from './run-stages.js';

/**
 * Runs a chain of stages as `runStages` does, and gives what its last stage gives.
 * @param controller that of the chain: it is aborted when the consumer leaves early, even while the consumer waits for
 *   an item. The chain has then ended before `return` resolves.
 * @param start runs the chain with its last stage, when the first item is asked for. Its error is thrown to the
 *   consumer.
 */
export function iterateChain<T>(
  controller: AbortController,
  start: (sink: SinkStage<T, void>) => Promise<void>,
): AsyncGenerator<T> {
  return abortOnEarlyReturn(iterate(start), controller);
}

async function* iterate<T>(start: (sink: SinkStage<T, void>) => Promise<void>): AsyncGenerator<T> {
  let offered: T | undefined;
  let isOffered = false;
  let hasEnded = false;
  let hasLeft = false;
  let wake = () => {};
  let goOn = () => {};
  const sink = async (items: AsyncIterable<T>) => {
    for await (const item of items) {
      if (hasLeft) return;
      offered = item;
      isOffered = true;
      const taken = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      wake();
      await taken;
      if (hasLeft) return;
    }
  };
  const chain = start(sink).finally(() => {
    hasEnded = true;
    wake();
  });
  // Its error is thrown below, when the consumer asks for the next item.
  chain.catch(() => undefined);
  try {
    for (;;) {
      if (!isOffered && !hasEnded) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (!isOffered) break;
      isOffered = false;
      yield offered as T;
      // The chain goes on only now, when the consumer has finished with the last item.
      goOn();
    }
    await chain;
  } finally {
    hasLeft = true;
    goOn();
    await chain.catch(() => undefined);
  }
}
