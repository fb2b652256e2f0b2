import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { abortable, withStopErrors } from '../../src/streams/abortable.js';
import { collect } from '../helpers/streams/collect.js';
import { turns } from '../helpers/streams/gates.js';

/** Gives the items, then waits forever, as a destroyed Node stream does; records what happened to it. */
function stuckAfter(...items: number[]) {
  const seen = { asked: 0, closed: false };
  const source = async function* () {
    try {
      for (const item of items) {
        seen.asked += 1;
        yield item;
      }
      seen.asked += 1;
      await new Promise(() => undefined);
    } finally {
      seen.closed = true;
    }
  };
  return { source: source(), seen };
}

it('gives the same items and ends as they do', async () => {
  const { signal } = new AbortController();
  const items = async function* () {
    yield* [1, 2, 3];
  };
  expect(await collect(abortable(items(), signal))).toEqual([1, 2, 3]);
});

it('fails as the source does', async () => {
  const { signal } = new AbortController();
  const items = async function* () {
    yield 1;
    throw new Error('broken');
  };
  await expect(collect(abortable(items(), signal))).rejects.toThrow('broken');
});

describe('an abort', () => {
  it('ends the waiting for an item that never comes, with its reason', async () => {
    const controller = new AbortController();
    const { source, seen } = stuckAfter(1);
    const found = collect(abortable(source, controller.signal));
    found.catch(() => undefined);
    await turns();
    expect(seen.asked).toBe(2);
    controller.abort(new Error('SIGTERM'));
    await expect(found).rejects.toThrow('SIGTERM');
  });

  it('before the first item reads nothing from the source', async () => {
    const { source, seen } = stuckAfter(1, 2);
    await expect(collect(abortable(source, AbortSignal.abort(new Error('too late'))))).rejects.toThrow(
      'too late',
    );
    expect(seen.asked).toBe(0);
  });

  it('between two items is noticed although the next one is there', async () => {
    const controller = new AbortController();
    const { source, seen } = stuckAfter(1, 2, 3);
    const iterator = abortable(source, controller.signal)[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    controller.abort(new Error('enough'));
    await expect(iterator.next()).rejects.toThrow('enough');
    expect(seen.asked).toBe(1);
  });
});

describe('a consumer that returns early', () => {
  it('closes the source and waits for that', async () => {
    const { source, seen } = stuckAfter(1, 2);
    for await (const item of abortable(source, new AbortController().signal)) {
      expect(item).toBe(1);
      break;
    }
    expect(seen.closed).toBe(true);
  });

  it('after an abort does not wait for a source whose next item never comes', async () => {
    const controller = new AbortController();
    const { source } = stuckAfter(1);
    const iterator = abortable(source, controller.signal)[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    next.catch(() => undefined);
    controller.abort(new Error('SIGTERM'));
    await expect(next).rejects.toThrow('SIGTERM');
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
  });

  it('after an abort still closes a source that waits for nothing', async () => {
    const controller = new AbortController();
    const { source, seen } = stuckAfter(1, 2);
    const iterator = abortable(source, controller.signal)[Symbol.asyncIterator]();
    await iterator.next();
    controller.abort();
    await iterator.return?.();
    expect(seen.closed).toBe(true);
  });

  it('does not need a source that can be closed', async () => {
    const items = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }) };
    const iterator = abortable(items, new AbortController().signal)[Symbol.asyncIterator]();
    await iterator.next();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
  });
});

it('leaves no listener on the signal', async () => {
  const { signal } = new AbortController();
  const items = async function* () {
    yield* [1, 2, 3];
  };
  for await (const _ of abortable(items(), signal)) {
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  }
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('any number of jobs may have the same signal: Node warns of nothing, and nothing is left with it', async () => {
  const { signal } = new AbortController();
  const warn = vi.spyOn(process, 'emitWarning');
  await Promise.all(Array.from({ length: 12 }, () => withStopErrors(signal, () => turns())));
  expect(warn).not.toHaveBeenCalled();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
