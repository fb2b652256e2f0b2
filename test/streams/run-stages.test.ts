import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { abortable, abortOnEarlyReturn } from '../../src/streams/abortable.js';
import { systemClock } from '../../src/streams/clock.js';
import { mapConcurrent } from '../../src/streams/map-concurrent.js';
import { drain, runStages } from '../../src/streams/run-stages.js';
import { turns } from '../helpers/streams/gates.js';

const hour = 60 * 60 * 1000;

/** Stages that say when they have ended; any of them fails, leaves or waits as a test says. */
function createChain() {
  const controller = new AbortController();
  const ended: string[] = [];
  const within = (name: string) =>
    async function* <T>(items: AsyncIterable<T>, each: (item: T) => Promise<void> | void = () => undefined) {
      try {
        for await (const item of items) {
          await each(item);
          yield item;
        }
      } finally {
        // Cleaning up takes a while: a chain that does not wait for it fails the test.
        await turns();
        ended.push(name);
      }
    };
  const numbers = async function* () {
    for (let n = 1; ; n++) {
      await turns(1);
      yield n;
    }
  };
  /** Lets the first number pass and keeps the others for an hour. */
  const sleepy = (items: AsyncIterable<number>) =>
    mapConcurrent(items, 20, async (n) => {
      if (n > 1) await systemClock.sleep(hour, controller.signal);
      return n;
    });
  return { controller, ended, within, numbers, sleepy };
}

it('returns what the last stage returns, and aborts nothing', async () => {
  const { controller } = createChain();
  const sum = await runStages(
    controller,
    async function* () {
      yield* [1, 2, 3];
    },
    async function* (items: AsyncIterable<number>) {
      for await (const item of items) yield item * 10;
    },
    async (items: AsyncIterable<number>) => {
      let total = 0;
      for await (const item of items) total += item;
      return total;
    },
  );
  expect(sum).toBe(60);
  expect(controller.signal.aborted).toBe(false);
});

describe('a failure', () => {
  const failing = (at: number) => (n: number) => {
    if (n === at) throw new Error(`failed at ${at}`);
  };

  it.each(['first', 'middle', 'last'])(
    'of the %s stage ends all of them, and is what is thrown',
    async (where) => {
      const { controller, ended, within, numbers } = createChain();
      const fail = (name: string) => (name === where ? failing(3) : undefined);
      const chain = runStages(
        controller,
        () => within('first')(numbers(), fail('first')),
        (items: AsyncIterable<number>) => within('middle')(items, fail('middle')),
        async (items: AsyncIterable<number>) => drain(within('last')(items, fail('last'))),
      );
      await expect(chain).rejects.toThrow('failed at 3');
      expect(ended.sort()).toEqual(['first', 'last', 'middle']);
      expect(controller.signal.aborted).toBe(true);
    },
  );

  it('is thrown although the stages after it were waiting', async () => {
    const { controller, ended, within, numbers, sleepy } = createChain();
    const chain = runStages(
      controller,
      () => within('first')(numbers()),
      (items: AsyncIterable<number>) =>
        mapConcurrent(items, 2, async (n) => {
          if (n === 5) throw new Error('refused');
          return n;
        }),
      sleepy,
      (items: AsyncIterable<number>) => within('last')(items),
      drain,
    );
    await expect(chain).rejects.toThrow('refused');
    expect(ended).toEqual(['first', 'last']);
  });

  it('is thrown although the stages before it were waiting', async () => {
    const { controller, ended, within, numbers, sleepy } = createChain();
    const chain = runStages(
      controller,
      () => within('first')(numbers()),
      sleepy,
      async function* (items: AsyncIterable<number>) {
        for await (const item of items) {
          await turns(10);
          if (item === 1) throw new Error('the disk is full');
          yield item;
        }
      },
      drain,
    );
    await expect(chain).rejects.toThrow('the disk is full');
    expect(ended).toEqual(['first']);
  });

  it('is thrown although the stage before it takes longer to end than a later one', async () => {
    const { controller, numbers, sleepy } = createChain();
    const slow = async function* (items: AsyncIterable<number>) {
      try {
        yield* items;
      } finally {
        await turns(100);
      }
    };
    const chain = runStages(
      controller,
      numbers,
      slow,
      async function* (items: AsyncIterable<number>) {
        for await (const item of items) {
          if (item === 3) throw new ConfigError('COLUMNS_DIFFER', 'refused');
          yield item;
        }
      },
      (items: AsyncIterable<number>) => sleepy(abortable(items, controller.signal)),
      drain,
    );
    await expect(chain).rejects.toThrow('refused');
  });

  it('of the last stage is thrown after the others have ended', async () => {
    const { controller, ended, within, numbers } = createChain();
    const chain = runStages(
      controller,
      () => within('first')(numbers()),
      (items: AsyncIterable<number>) => within('middle')(items),
      async (items: AsyncIterable<number>) => {
        for await (const item of items) if (item === 2) throw new Error('no room');
      },
    );
    await expect(chain).rejects.toThrow('no room');
    expect(ended).toEqual(['first', 'middle']);
  });
});

it('a stage between others that returns early ends the chain, which says so', async () => {
  const { controller, ended, within, numbers, sleepy } = createChain();
  const chain = runStages(
    controller,
    () => within('first')(numbers()),
    async function* (items: AsyncIterable<number>) {
      for await (const item of items) {
        yield item;
        if (item === 2) return;
      }
    },
    sleepy,
    drain,
  );
  await expect(chain).rejects.toMatchObject({ code: 'STAGE_ENDED', exitCode: 2 });
  expect(ended).toEqual(['first']);
});

describe('a stage that is joined with the one before it to one function', () => {
  const joined = (leave: (n: number) => boolean) => {
    const { controller, within, numbers, sleepy } = createChain();
    return runStages(
      controller,
      numbers,
      async function* (items: AsyncIterable<number>) {
        for await (const item of abortOnEarlyReturn(within('middle')(items), controller)) {
          yield item;
          if (leave(item)) return;
        }
      },
      (items: AsyncIterable<number>) => sleepy(abortable(items, controller.signal)),
      drain,
    );
  };

  it('ends the chain with its own error', async () => {
    const chain = joined((item) => {
      if (item === 2) throw new Error('refused');
      return false;
    });
    await expect(chain).rejects.toThrow('refused');
  });

  it('ends the chain with STAGE_ENDED when it returns early', async () => {
    await expect(joined((item) => item === 2)).rejects.toMatchObject({ code: 'STAGE_ENDED' });
  });
});

describe('an abort from outside', () => {
  it('ends a chain whose stage waits for hours, with its own reason', async () => {
    const { controller, ended, within, numbers, sleepy } = createChain();
    const chain = runStages(
      controller,
      () => within('first')(numbers()),
      sleepy,
      (items: AsyncIterable<number>) => within('last')(items),
      drain,
    );
    await turns(10);
    controller.abort(new Error('SIGTERM'));
    await expect(chain).rejects.toThrow('SIGTERM');
    expect(ended).toEqual(['first', 'last']);
  });

  it('before the start starts nothing', async () => {
    const { controller, ended, within, numbers } = createChain();
    controller.abort(new Error('too late'));
    await expect(runStages(controller, () => within('first')(numbers()), drain)).rejects.toThrow('too late');
    expect(ended).toEqual([]);
  });
});

it('a last stage that returns early ends the others and is not a failure', async () => {
  const { controller, ended, within, numbers } = createChain();
  const found = await runStages(
    controller,
    () => within('first')(numbers()),
    async (items: AsyncIterable<number>) => {
      for await (const item of items) if (item === 3) return item;
      return undefined;
    },
  );
  expect(found).toBe(3);
  expect(ended).toEqual(['first']);
});
