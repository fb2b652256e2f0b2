/**
 * A bounded concurrent map over an async iterable. Yields results in the order in which they are done. Work continues
 * while the consumer is busy.
 *
 * p-limit is the bound: an item holds its slot from before it is read until the consumer has taken its result. The rest
 * is written by hand, because p-limit's `map` reads the whole source first, gives all results at the end and cannot be
 * aborted.
 */
import pLimit from 'p-limit';
import { abortable } from './abortable.js';

/**
 * Maps each item with `work`. At most `concurrency` items are in progress or wait for the consumer. Drops a result of
 * `undefined`.
 *
 * When a call fails, or the consumer returns early, the generator closes the source and waits for the calls in flight
 * before it ends. It throws the first failure.
 * @param controller aborted with the first failure at once, because the consumer may request its next item much later.
 *   After an abort the map stops waiting for the next item of the source.
 */
export async function* mapConcurrent<In, Out>(
  source: AsyncIterable<In>,
  concurrency: number,
  work: (item: In) => Promise<Out | undefined>,
  controller?: AbortController,
): AsyncGenerator<Out> {
  const limit = pLimit(concurrency);
  const items = (controller ? abortable(source, controller.signal) : source)[Symbol.asyncIterator]();
  const tasks = new Set<Promise<void>>();
  /** Results that wait for the consumer; `free` ends the task that holds the result's slot. */
  const ready: { readonly result: Out; readonly free: () => void }[] = [];
  let failure: { readonly error: unknown } | undefined;
  let isClosed = false;
  let wakeConsumer = () => {};

  const fail = (error: unknown) => {
    failure ??= { error };
    controller?.abort(error);
  };
  const mapNext = async (): Promise<void> => {
    if (isClosed || failure) return;
    const next = await items.next();
    // Does not start an item that arrives after the end, because nothing would wait for it.
    if (next.done || isClosed || failure) return;
    addTask();
    const result = await work(next.value);
    if (result === undefined || isClosed) return;
    await new Promise<void>((free) => {
      ready.push({ result, free });
      wakeConsumer();
    });
  };
  /** One task waits for a slot or for the source. When it has its item, it adds the next task. */
  const addTask = () => {
    // Catches within the limit, so that a failure is known before its slot is free.
    const task = limit(() => mapNext().catch(fail)).finally(() => {
      tasks.delete(task);
      wakeConsumer();
    });
    tasks.add(task);
  };

  addTask();
  try {
    while (!failure && tasks.size > 0) {
      const next = ready.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wakeConsumer = resolve;
        });
      } else {
        next.free();
        yield next.result;
      }
    }
    if (failure) throw failure.error;
  } finally {
    isClosed = true;
    for (const { free } of ready) free();
    if (tasks.size > 0 || failure) {
      const closing = Promise.resolve(items.return?.()).catch(() => undefined);
      await Promise.all([closing, ...tasks]);
    }
  }
}

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
  let inProgress = 0;
  let wake = () => {};
  const begin = (item: In) => {
    inProgress += 1;
    return item;
  };
  const items = async function* () {
    for await (const item of source) {
      while (added.length > 0) yield begin(added.shift()!);
      yield begin(item);
    }
    for (;;) {
      while (added.length > 0) yield begin(added.shift()!);
      if (inProgress === 0) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const workAndWake = async (item: In) => {
    try {
      return await work(item, (...more) => void added.unshift(...more));
    } finally {
      inProgress -= 1;
      wake();
    }
  };
  return mapConcurrent(items(), concurrency, workAndWake, controller);
}
