import { describe, expect, it } from 'vitest';
import { createPermits, permitName } from '../../src/streams/permits.js';
import { turns } from '../helpers/streams/gates.js';

const patience = new AbortController().signal;

describe('permits', () => {
  it('are given up to their count, then to the caller that has waited longest', async () => {
    const permits = createPermits(2);
    const held: string[] = [];
    for (const holder of ['1', '2', '3', '4']) {
      void permits.acquire(holder, patience).then(() => held.push(holder));
    }
    await turns();
    expect(held).toEqual(['1', '2']);
    permits.release('2');
    await turns();
    expect(held).toEqual(['1', '2', '3']);
    permits.release('1');
    await turns();
    expect(held).toEqual(['1', '2', '3', '4']);
  });

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
