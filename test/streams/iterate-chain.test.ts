import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { iterateChain } from '../../src/streams/iterate-chain.js';
import { runStages } from '../../src/streams/run-stages.js';
import { collect } from '../helpers/streams/collect.js';

/** A chain that gives the numbers from 1 on; `given` are those that it has given so far. */
function numbers(last: number, end: () => Promise<void> = async () => undefined) {
  const controller = new AbortController();
  const given: number[] = [];
  const source = async function* () {
    for (let i = 1; i <= last; i++) {
      given.push(i);
      yield i;
    }
    await end();
  };
  const items = iterateChain<number>(controller, (sink) => runStages(controller, source, sink));
  return { controller, given, items };
}

it('gives every item in order, and runs only when it is asked', async () => {
  const { given, items } = numbers(20);
  await setImmediate();
  expect(given).toEqual([]);
  expect((await items.next()).value).toBe(1);
  for (let i = 0; i < 10; i++) await setImmediate();
  expect(given.length).toBeLessThan(3);
  expect(await collect(items)).toEqual(Array.from({ length: 19 }, (_, at) => at + 2));
});

it('throws the error of the chain after what it has given', async () => {
  const broken = new Error('broken');
  const { items } = numbers(1, async () => {
    throw broken;
  });
  expect((await items.next()).value).toBe(1);
  await expect(items.next()).rejects.toBe(broken);
});

it('aborts the chain when it is left, also while nothing comes', async () => {
  const first = numbers(3);
  for await (const _ of first.items) break;
  expect(first.controller.signal.aborted).toBe(true);

  const { controller, items } = numbers(
    0,
    () =>
      new Promise((_, reject) =>
        controller.signal.addEventListener('abort', () => reject(new Error('left'))),
      ),
  );
  const waiting = items.next().catch((error: Error) => error.message);
  await setImmediate();
  await items.return(undefined);
  expect(await waiting).toBe('left');
});
