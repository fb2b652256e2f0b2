import { describe, expect, it } from 'vitest';
import { createPermits, permitName } from '../../src/streams/permits.js';
import { turns } from '../helpers/streams/gates.js';

const patience = new AbortController().signal;

describe('permits', () => {
  it('are held once by each name, and by every run under a name of its own', async () => {
    const permits = createPermits(2);
    for (const run of ['r1', 'r1', 'r2']) {
      expect(await permits.acquire(permitName(run, 1), patience)).toBe(true);
    }
    permits.release(permitName('r1', 1));
    expect(await permits.acquire(permitName('r3', 1), patience)).toBe(true);
  });

  it('are released once: a second release, or one without a permit, does nothing', async () => {
    const permits = createPermits(1);
    await permits.acquire('1', patience);
    permits.release('7');
    permits.release('1');
    permits.release('1');
    await permits.acquire('2', patience);
    let third = false;
    void permits.acquire('3', patience).then(() => {
      third = true;
    });
    await turns();
    expect(third).toBe(false);
  });

  it('may be taken again by the same holder', async () => {
    const permits = createPermits(1);
    for (let i = 0; i < 3; i++) {
      await permits.acquire('1', patience);
      permits.release('1');
    }
  });
});

describe('waiting for a permit', () => {
  it('ends with the reason of the abort, and costs no permit', async () => {
    const permits = createPermits(1);
    await permits.acquire('1', patience);
    const controller = new AbortController();
    const waiting = permits.acquire('2', controller.signal);
    const behind = permits.acquire('3', patience);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    permits.release('1');
    await behind;
    permits.release('2');
    permits.release('3');
    await permits.acquire('4', patience);
  });

  it('ends with false when no permit can become free any more, now and later', async () => {
    const permits = createPermits(2);
    await permits.acquire('1', patience);
    await permits.acquire('2', patience);
    const waiting = permits.acquire('3', patience);
    permits.keep('1');
    permits.keep('1');
    permits.keep('7');
    permits.keep('2');
    expect(await waiting).toBe(false);
    expect(await permits.acquire('4', patience)).toBe(false);
  });

  it('goes on with the permits that are not kept', async () => {
    const permits = createPermits(2);
    await permits.acquire('1', patience);
    await permits.acquire('2', patience);
    const waiting = permits.acquire('3', patience);
    permits.keep('1');
    permits.release('1');
    permits.release('2');
    expect(await waiting).toBe(true);
  });

  it('is refused at once after the abort', async () => {
    const permits = createPermits(1);
    await expect(permits.acquire('1', AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    await permits.acquire('2', patience);
  });
});

describe('a service that refuses to open more', () => {
  /** Permits, the holders that got one, and the time, which the test moves. */
  function open(count: number) {
    let time = 0;
    const limits: number[] = [];
    const permits = createPermits(
      count,
      () => time,
      (limit) => limits.push(limit),
    );
    const got: string[] = [];
    const acquire = async (...holders: string[]) => {
      for (const holder of holders) void permits.acquire(holder, patience).then(() => got.push(holder));
      await turns();
      return got.splice(0).join('');
    };
    const pass = (span: number) => {
      time += span;
    };
    return { permits, limits, acquire, pass };
  }
  const opened = ({ permits }: ReturnType<typeof open>, holders: string) => {
    for (const holder of holders) permits.opened!(holder);
  };

  it('is asked once more by one alone, and believed when it refuses again', async () => {
    const one = open(5);
    const { permits, limits, acquire } = one;
    expect(await acquire('a', 'b', 'c', 'd')).toBe('abcd');
    opened(one, 'ab');
    expect(permits.refused!('c')).toBe(true);
    expect(permits.refused!('d')).toBe(false);
    permits.release('d');
    expect(await acquire('e')).toBe('');
    expect(permits.refused!('c')).toBe(false);
    permits.release('c');
    expect(limits).toEqual([2]);
    expect(await acquire('c')).toBe('');
    permits.release('a');
    expect(await acquire()).toBe('e');
    permits.release('b');
    expect(await acquire()).toBe('c');
  });

  it('is believed to have had another reason when it opens the folio then', async () => {
    const one = open(3);
    const { permits, limits, acquire } = one;
    await acquire('a', 'b');
    opened(one, 'a');
    expect(permits.refused!('b')).toBe(true);
    expect(await acquire('c', 'd')).toBe('');
    permits.opened!('b');
    expect(await acquire()).toBe('c');
    expect(limits).toEqual([]);
  });

  it('is tried with one more after a minute without a refusal, then with ever more, or seldom', async () => {
    const one = open(9);
    const { permits, limits, acquire, pass } = one;
    await acquire('a', 'b', 'c');
    opened(one, 'ab');
    permits.refused!('c');
    permits.refused!('c');
    permits.release('c');
    const next = async (ended: string, holders: string) => {
      permits.release(ended);
      return acquire(...holders);
    };
    pass(59_000);
    expect(await next('a', 'cd')).toBe('c');
    opened(one, 'c');
    pass(1_000);
    expect(await next('b', '')).toBe('d');
    expect(await acquire('e')).toBe('e');
    opened(one, 'd');
    // In vain: the next time is two minutes away.
    expect(permits.refused!('e')).toBe(false);
    permits.release('e');
    pass(119_000);
    expect(await next('c', 'fg')).toBe('f');
    opened(one, 'f');
    pass(1_000);
    expect(await next('d', 'h')).toBe('gh');
    opened(one, 'gh');
    expect(await acquire('i', 'j', 'k')).toBe('ij');
    opened(one, 'ij');
    expect(limits).toEqual([2, 3, 2, 3, 5, 9]);
    expect(await acquire()).toBe('k');
  });

  it('ends no wait while folios are open, and is asked on and on where none is', async () => {
    const one = open(4);
    const { permits, acquire } = one;
    await acquire('a');
    for (let i = 0; i < 3; i++) expect(permits.refused!('a')).toBe(true);
    opened(one, 'a');
    expect(await acquire('b', 'c', 'd', 'e')).toBe('bcd');
  });

  it('leaves no permit to wait for where all that it admits are kept', async () => {
    const one = open(4);
    const { permits, acquire } = one;
    await acquire('a', 'b');
    opened(one, 'a');
    permits.refused!('b');
    permits.refused!('b');
    permits.release('b');
    const waiting = permits.acquire('b', patience);
    permits.keep('a');
    expect(await waiting).toBe(false);
  });
});
