/** Gives small stretches several at a time, so that they share a write to the work file and its sync. */
import type { MergedStretch } from '../merge/merge-stretch.js';

/** A write with its sync takes as long as merging a small chunk: stretches that come within this time share one. */
const TOGETHER = { time: 20, bytes: 256 * 1024 };

/**
 * Gives the same stretches in the same order, those together that have equal columns. Asks for the next one while the
 * consumer works, so that merging and writing overlap. The source must not change a stretch after it has given it.
 */
export async function* smallTogether(
  source: AsyncIterable<MergedStretch>,
): AsyncGenerator<readonly MergedStretch[], void, undefined> {
  const stretches = source[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<MergedStretch>> => {
    const asked = stretches.next();
    // Avoids an unhandled rejection when the consumer stops early.
    asked.catch(() => undefined);
    return asked;
  };
  let isAtEnd = false;
  try {
    for (let ahead = ask(); ; ) {
      const first = await ahead;
      isAtEnd = first.done === true;
      if (first.done) return;
      const some = [first.value];
      ahead = ask();
      let timer: NodeJS.Timeout | undefined;
      const timeIsOver = new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), TOGETHER.time);
      });
      for (let { length } = first.value.bytes; length < TOGETHER.bytes; length += some.at(-1)!.bytes.length) {
        // What ends the source, an error too, comes after the stretches before it.
        const next = await Promise.race([ahead, timeIsOver]).catch(() => undefined);
        if (next === undefined || next.done || next.value.columns !== first.value.columns) break;
        some.push(next.value);
        ahead = ask();
      }
      clearTimeout(timer);
      yield some;
    }
  } finally {
    if (!isAtEnd) await stretches.return?.();
  }
}
