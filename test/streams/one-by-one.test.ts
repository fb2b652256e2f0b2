import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { oneByOne } from '../../src/streams/one-by-one.js';

async function* batchesOf(...batches: number[][]) {
  for (const rows of batches) {
    await setImmediate();
    yield { rows };
  }
}

/** What workers get that ask at the same time. */
async function shared<T>(items: AsyncIterator<T, void>, workers: number): Promise<T[]> {
  const got: T[] = [];
  const work = async () => {
    for (;;) {
      const { done, value } = await items.next();
      if (done) return;
      got.push(value as T);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return got;
}

it('answers calls that wait at the same time in their order, each with one item', async () => {
  const batches = [[], [1, 2, 3], [], [4], [5, 6, 7, 8, 9, 10, 11], []];
  const all = batches.flat();
  expect(await shared(oneByOne(batchesOf(...batches), undefined), 4)).toEqual(all);
  const later = async ({ rows }: { rows: number[] }, at: number) => {
    if (rows[at]! % 2 === 0) await setImmediate();
    return rows[at];
  };
  expect(await shared(oneByOne(batchesOf(...batches), later), 4)).toEqual(all);
  const items = oneByOne(batchesOf([1, 2]), undefined);
  const calls = [items.next(), items.next(), items.next(), items.next()];
  expect((await Promise.all(calls)).map(({ value }) => value)).toEqual([1, 2, undefined, undefined]);
});

it.each([
  ['the first of a batch', 3],
  ['another one', 4],
])('gives nothing after an error of an item: %s', async (_, wrong) => {
  for (const isLater of [false, true]) {
    const closed: string[] = [];
    const batches = async function* () {
      try {
        yield* batchesOf([1, 2], [3, 4, 5]);
      } finally {
        closed.push('closed');
      }
    };
    const refuse = ({ rows }: { rows: number[] }, at: number) => {
      const refused = new Error(`not ${rows[at]}`);
      if (rows[at] !== wrong) return rows[at]!;
      if (isLater) return Promise.reject(refused);
      throw refused;
    };
    const items = oneByOne(batches(), refuse);
    for (let item = 1; item < wrong; item++) expect((await items.next()).value).toBe(item);
    const calls = await Promise.allSettled([items.next(), items.next(), items.next()]);
    expect(calls.map((call) => (call.status === 'rejected' ? String(call.reason) : call.value.done))).toEqual(
      [`Error: not ${wrong}`, true, true],
    );
    expect(closed).toEqual(['closed']);
  }
});
