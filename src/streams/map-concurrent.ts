/**
 * A bounded concurrent map over an async iterable. Results leave in the order in which they are done, and
 * work goes on while the consumer is busy: at most `concurrency` items are in work or waiting to be taken.
 */
import pLimit from 'p-limit';
import { abortable } from './abortable.js';

/**
 * Maps each item through `work`, up to `concurrency` at once; an `undefined` result is passed over.
 * When a call fails, or the consumer leaves early, the source is closed and what is in flight is awaited
 * before the generator ends; the first failure is the one that is thrown.
 * @param controller aborted with a failure at once (the consumer may not ask for the next item for long); once
 *   it is aborted, the source's next item is not waited for.
 */
export async function* mapConcurrent<In, Out>(
  source: AsyncIterable<In>,
  concurrency: number,
  work: (item: In) => Promise<Out | undefined>,
  controller?: AbortController,
): AsyncGenerator<Out> {
  const limit = pLimit(concurrency);
  const items = (controller ? abortable(source, controller.signal) : source)[Symbol.asyncIterator]();
  const running = new Set<Promise<void>>();
  const ready: Out[] = [];
  const failures: unknown[] = [];
  let closed = false;
  const change = createSignal();
  const fail = (error: unknown) => {
    failures.push(error);
    controller?.abort(error);
  };
  const start = (item: In) => {
    const run = limit(() => work(item))
      .then((result) => void (result !== undefined && ready.push(result)), fail)
      .finally(() => {
        running.delete(run);
        change.notify();
      });
    running.add(run);
  };
  const read = async () => {
    while (!closed && failures.length === 0) {
      if (running.size + ready.length >= concurrency) {
        await change.next();
        continue;
      }
      const next = await items.next();
      // What the source gives after the end is not begun: nobody would wait for it.
      if (next.done || closed || failures.length > 0) return;
      start(next.value);
    }
  };

  let reading = true;
  const reader = read()
    .catch(fail)
    .finally(() => {
      reading = false;
      change.notify();
    });

  let finished = false;
  try {
    while (failures.length === 0 && (reading || running.size > 0 || ready.length > 0)) {
      if (ready.length === 0) {
        await change.next();
        continue;
      }
      yield ready.shift()!;
      change.notify();
    }
    if (failures.length > 0) throw failures[0];
    finished = true;
  } finally {
    closed = true;
    if (!finished) {
      change.notify();
      const closing = Promise.resolve(items.return?.()).catch(() => undefined);
      await Promise.all([closing, reader, ...running]);
    }
  }
}

/** Lets several loops wait for the next change of what they share. */
function createSignal() {
  let wake: () => void = () => undefined;
  let waiting: Promise<void> | undefined;
  return {
    next: () => {
      waiting ??= new Promise((resolve) => {
        wake = resolve;
      });
      return waiting;
    },
    notify: () => {
      waiting = undefined;
      wake();
    },
  };
}

// A bounded concurrent map whose work may add further items: those go before what the source has next.

/** Puts items in front of all that wait, in this order. */
export type AddItems<In> = (...items: readonly In[]) => void;

/**
 * As `mapConcurrent`, which does the work. It ends when the source has ended and no work can add anything more.
 * @param work may add items until it has ended.
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
  const workOff = async (item: In) => {
    try {
      return await work(item, (...more) => void added.unshift(...more));
    } finally {
      inWork -= 1;
      wake();
    }
  };
  return mapConcurrent(items(), concurrency, workOff, controller);
}
