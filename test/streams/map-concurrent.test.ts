import { describe, expect, it } from 'vitest';
import { mapConcurrent } from '../../src/streams/map-concurrent.js';
import { collect } from '../helpers/streams/collect.js';
import { createGates, turns } from '../helpers/streams/gates.js';

/** A source that records how many items it gave and whether it was closed. */
function sourceOf<T>(items: readonly T[], end?: Error) {
  const seen = { given: 0, closed: false };
  const source = async function* () {
    try {
      for (const item of items) {
        seen.given += 1;
        yield item;
      }
      if (end) throw end;
    } finally {
      seen.closed = true;
    }
  };
  return { source: source(), seen };
}

describe('results', () => {
  it('leave in the order in which they are ready', async () => {
    const gates = createGates<number>();
    const { source } = sourceOf([1, 2, 3]);
    const found = collect(mapConcurrent(source, 3, gates.enter));
    for (const item of [3, 1, 2]) {
      await turns();
      gates.open(item, item);
    }
    expect(await found).toEqual([3, 1, 2]);
  });

  it('that are undefined are dropped', async () => {
    const { source } = sourceOf([1, 2, 3, 4]);
    const even = async (n: number) => (n % 2 === 0 ? n : undefined);
    expect(await collect(mapConcurrent(source, 2, even))).toEqual([2, 4]);
  });

  it('keep their order with a concurrency of 1', async () => {
    const { source } = sourceOf([1, 2, 3]);
    let working = 0;
    const work = async (n: number) => {
      expect(++working).toBe(1);
      await turns();
      working -= 1;
      return n;
    };
    expect(await collect(mapConcurrent(source, 1, work))).toEqual([1, 2, 3]);
  });

  it('of an empty source are none', async () => {
    expect(await collect(mapConcurrent(sourceOf([]).source, 2, async (n) => n))).toEqual([]);
  });
});

describe('the bound', () => {
  it('holds for items in work and waiting to be taken together', async () => {
    const { source, seen } = sourceOf([1, 2, 3, 4, 5, 6]);
    const mapped = mapConcurrent(source, 3, async (n) => n);
    expect((await mapped.next()).value).toBe(1);
    await turns();
    // The consumer is busy with the first; three more are done and wait, and a fifth is not begun.
    expect(seen.given).toBe(4);
    expect(await collect(mapped)).toEqual([2, 3, 4, 5, 6]);
  });

  it('lets work go on while the consumer is busy', async () => {
    const gates = createGates<number>();
    const mapped = mapConcurrent(sourceOf([1, 2, 3]).source, 2, gates.enter);
    const first = mapped.next();
    await turns();
    gates.open(1, 1);
    await first;
    await turns();
    expect(gates.waiting()).toEqual([2, 3]);
    gates.open(2, 2);
    gates.open(3, 3);
    expect(await collect(mapped)).toEqual([2, 3]);
  });
});

describe('a failure', () => {
  it('is thrown when what is in flight has ended and the source is closed', async () => {
    const gates = createGates<number>();
    const { source, seen } = sourceOf([1, 2, 3, 4, 5]);
    let settled = false;
    const found = collect(mapConcurrent(source, 3, gates.enter)).finally(() => {
      settled = true;
    });
    found.catch(() => undefined);
    await turns();
    gates.fail(2, new Error('two'));
    await turns();
    expect(settled).toBe(false);
    gates.fail(3, new Error('three'));
    gates.open(1, 1);
    await expect(found).rejects.toThrow('two');
    expect(seen).toEqual({ given: 3, closed: true });
  });

  it('starts nothing more, even if the source gives an item while it is closed', async () => {
    const begun: number[] = [];
    const gates = createGates<number>();
    let give: (() => void) | undefined;
    const source = async function* () {
      yield 1;
      await new Promise<void>((resolve) => {
        give = resolve;
      });
      yield 2;
    };
    const found = collect(
      mapConcurrent(source(), 2, (n) => {
        begun.push(n);
        return gates.enter(n);
      }),
    );
    found.catch(() => undefined);
    await turns();
    gates.fail(1, new Error('one'));
    await turns();
    give!();
    await expect(found).rejects.toThrow('one');
    expect(begun).toEqual([1]);
  });

  it('of the source is thrown when what is in flight has ended', async () => {
    const gates = createGates<number>();
    const found = collect(mapConcurrent(sourceOf([1], new Error('broken')).source, 2, gates.enter));
    found.catch(() => undefined);
    let settled = false;
    void found
      .catch(() => undefined)
      .finally(() => {
        settled = true;
      });
    await turns();
    expect(settled).toBe(false);
    gates.open(1, 1);
    await expect(found).rejects.toThrow('broken');
  });

  it('that is undefined is still a failure', async () => {
    const mapped = mapConcurrent(sourceOf([1]).source, 1, () => Promise.reject(undefined));
    let thrown: unknown = 'nothing';
    await collect(mapped).catch((error: unknown) => {
      thrown = error;
    });
    expect(thrown).toBeUndefined();
  });

  it('thrown by the call itself is the same as a rejection', async () => {
    const mapped = mapConcurrent(sourceOf([1]).source, 1, () => {
      throw new Error('at once');
    });
    await expect(collect(mapped)).rejects.toThrow('at once');
  });
});

describe('a consumer that returns early', () => {
  it('waits for what is in flight, and the source is closed', async () => {
    const gates = createGates<number>();
    const { source, seen } = sourceOf([1, 2, 3, 4]);
    const mapped = mapConcurrent(source, 2, gates.enter);
    const first = mapped.next();
    await turns();
    gates.open(1, 1);
    await first;
    await turns();
    let left = false;
    const leaving = mapped.return(undefined).then(() => {
      left = true;
    });
    await turns();
    expect(left).toBe(false);
    for (const item of gates.waiting()) gates.fail(item, new Error('too late to matter'));
    await leaving;
    expect(seen.closed).toBe(true);
  });
});

describe('with a controller', () => {
  it('a failure aborts at once, although the consumer does not ask for the next item', async () => {
    const controller = new AbortController();
    const gates = createGates<number>();
    const mapped = mapConcurrent(sourceOf([1, 2, 3]).source, 2, gates.enter, controller);
    const first = mapped.next();
    await turns();
    gates.open(1, 1);
    await first;
    const broken = new Error('two');
    gates.fail(2, broken);
    await turns();
    expect(controller.signal.reason).toBe(broken);
    for (const item of gates.waiting()) gates.open(item, item);
    await expect(collect(mapped)).rejects.toBe(broken);
  });

  it('a failure of the source aborts at once too', async () => {
    const controller = new AbortController();
    const gates = createGates<number>();
    const mapped = mapConcurrent(sourceOf([1], new Error('broken')).source, 2, gates.enter, controller);
    const first = mapped.next();
    await turns();
    expect(controller.signal.reason).toEqual(new Error('broken'));
    gates.open(1, 1);
    await expect(first).rejects.toThrow('broken');
  });

  /** Gives one item, then waits forever, as a destroyed Node stream does. */
  const stuckSource = async function* () {
    yield 1;
    await new Promise(() => undefined);
  };

  it('a source that never gives its next item does not keep a failure from ending it', async () => {
    const gates = createGates<number>();
    const found = collect(mapConcurrent(stuckSource(), 2, gates.enter, new AbortController()));
    found.catch(() => undefined);
    await turns();
    gates.fail(1, new Error('one'));
    await expect(found).rejects.toThrow('one');
  });

  it('an abort ends it with its reason, once what is in flight has ended', async () => {
    const controller = new AbortController();
    const gates = createGates<number>();
    let settled = false;
    const found = collect(mapConcurrent(stuckSource(), 2, gates.enter, controller)).finally(() => {
      settled = true;
    });
    found.catch(() => undefined);
    await turns();
    controller.abort(new Error('SIGTERM'));
    await turns();
    expect(settled).toBe(false);
    gates.open(1, 1);
    await expect(found).rejects.toThrow('SIGTERM');
  });

  it('an end without a failure aborts nothing', async () => {
    const controller = new AbortController();
    expect(await collect(mapConcurrent(sourceOf([1, 2]).source, 2, async (n) => n, controller))).toEqual([
      1, 2,
    ]);
    expect(controller.signal.aborted).toBe(false);
  });
});
