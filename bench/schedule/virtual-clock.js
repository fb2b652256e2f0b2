/** A clock that moves on as soon as all code only waits for it; made for a million sleeps. */
import { setImmediate as turn } from 'node:timers/promises';

export function createVirtualClock() {
  let now = 0;
  let order = 0;
  let pumping = false;
  const sleepers = createHeap((a, b) => a.at - b.at || a.order - b.order);
  const watched = new WeakSet();

  // Code that is woken goes on only by promises, so that one turn of the event loop ends all that an instant begins.
  const pump = async () => {
    pumping = true;
    for (;;) {
      await turn();
      const first = sleepers.pop();
      if (first === undefined) break;
      now = first.at;
      first.wake();
      while (sleepers.peek()?.at === now) sleepers.pop().wake();
    }
    pumping = false;
  };

  const watch = (signal) => {
    if (watched.has(signal)) return;
    watched.add(signal);
    signal.addEventListener('abort', () => {
      for (const sleeper of sleepers.all()) if (sleeper.signal === signal) sleeper.fail(signal.reason);
    });
  };

  return {
    now: () => now,
    sleep: (time, signal) =>
      new Promise((wake, fail) => {
        signal.throwIfAborted();
        watch(signal);
        // Whole milliseconds, as the system's clock gives them.
        sleepers.push({ at: Math.ceil(now + Math.max(time, 0)), order: order++, wake, fail, signal });
        if (!pumping) void pump();
      }),
  };
}

/** The smallest first. */
export function createHeap(compare) {
  const items = [];
  const swap = (i, j) => {
    [items[i], items[j]] = [items[j], items[i]];
  };
  const rise = (i) => {
    for (let parent = (i - 1) >> 1; i > 0 && compare(items[i], items[parent]) < 0; parent = (i - 1) >> 1) {
      swap(i, parent);
      i = parent;
    }
  };
  const sink = (i) => {
    for (;;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < items.length && compare(items[child], items[least]) < 0) least = child;
      }
      if (least === i) return;
      swap(i, least);
      i = least;
    }
  };
  return {
    size: () => items.length,
    all: () => items,
    peek: () => items[0],
    push: (item) => {
      items.push(item);
      rise(items.length - 1);
    },
    pop: () => {
      const first = items[0];
      const last = items.pop();
      if (items.length > 0) {
        items[0] = last;
        sink(0);
      }
      return first;
    },
  };
}
