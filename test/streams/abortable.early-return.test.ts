import { describe, expect, it } from 'vitest';
import { abortOnEarlyReturn } from '../../src/streams/abortable.js';
import { systemClock } from '../../src/streams/clock.js';
import { turns } from '../helpers/streams/gates.js';

const hour = 60 * 60 * 1000;

/** Gives 1, then waits for an hour unless it is aborted. */
function slowItems() {
  const controller = new AbortController();
  const seen = { closed: false };
  const items = async function* () {
    try {
      yield 1;
      await systemClock.sleep(hour, controller.signal);
      yield 2;
    } finally {
      seen.closed = true;
    }
  };
  return { controller, seen, items: abortOnEarlyReturn(items(), controller) };
}

describe('a consumer that reads to the end', () => {
  it('gets the same items, and nothing is aborted, even by a return afterwards', async () => {
    const controller = new AbortController();
    const numbers = async function* () {
      yield* [1, 2, 3];
    };
    const items = abortOnEarlyReturn(numbers(), controller);
    const found: number[] = [];
    for await (const item of items) found.push(item);
    expect(found).toEqual([1, 2, 3]);
    await items.return(undefined);
    expect(controller.signal.aborted).toBe(false);
  });

  it('gets the failure, and the controller is not aborted by it', async () => {
    const controller = new AbortController();
    const failing = async function* (): AsyncGenerator<number> {
      yield 1;
      throw new Error('broken');
    };
    const items = abortOnEarlyReturn(failing(), controller);
    await items.next();
    await expect(items.next()).rejects.toThrow('broken');
    await items.return(undefined);
    expect(controller.signal.aborted).toBe(false);
  });
});

describe('a consumer that returns early', () => {
  it('with an error ends what waits for an hour', async () => {
    const { controller, seen, items } = slowItems();
    await items.next();
    const next = items.next();
    next.catch(() => undefined);
    await turns();
    const error = new Error('the warehouse is full');
    await expect(items.throw(error)).rejects.toBe(error);
    await expect(next).rejects.toBe(error);
    expect(controller.signal.reason).toBe(error);
    expect(seen.closed).toBe(true);
  });

  it('without one does so too', async () => {
    const { controller, seen, items } = slowItems();
    for await (const item of items) {
      expect(item).toBe(1);
      break;
    }
    expect(controller.signal.aborted).toBe(true);
    expect(seen.closed).toBe(true);
  });

  it('does not change the reason of an abort before', async () => {
    const { controller, items } = slowItems();
    await items.next();
    const first = new Error('SIGTERM');
    controller.abort(first);
    await expect(items.throw(new Error('later'))).rejects.toThrow('later');
    expect(controller.signal.reason).toBe(first);
  });
});
