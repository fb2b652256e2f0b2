import { describe, expect, it } from 'vitest';
import { giveBack, takeBuffer } from '../../src/streams/buffer-pool.js';

describe('the buffer pool', () => {
  it('gives what was given back again, and never what is still out', () => {
    const first = takeBuffer(100_000);
    const second = takeBuffer(100_000);
    expect(second.buffer).not.toBe(first.buffer);
    giveBack(first);
    const third = takeBuffer(70_000);
    expect(third.buffer).toBe(first.buffer);
    expect(third).toHaveLength(70_000);
    expect(takeBuffer(70_000).buffer).not.toBe(second.buffer);
  });

  it('gives none that is too small', () => {
    giveBack(takeBuffer(10));
    expect(takeBuffer(200_000)).toHaveLength(200_000);
  });

  it('gives none that is much too large', () => {
    const large = takeBuffer(1_500_000);
    giveBack(large);
    expect(takeBuffer(900_000).buffer).not.toBe(large.buffer);
    expect(takeBuffer(1_400_000).buffer).toBe(large.buffer);
  });

  it('takes nothing back twice, and nothing that is not its own', () => {
    const own = takeBuffer(300_000);
    giveBack(own);
    giveBack(own);
    expect(takeBuffer(300_000).buffer).toBe(own.buffer);
    expect(takeBuffer(300_000).buffer).not.toBe(own.buffer);

    const strange = Buffer.alloc(400_000);
    giveBack(strange);
    expect(takeBuffer(400_000).buffer).not.toBe(strange.buffer);
  });

  it('keeps but a few', () => {
    const taken = Array.from({ length: 20 }, () => takeBuffer(500_000));
    for (const buffer of taken) giveBack(buffer);
    const kept = Array.from({ length: 20 }, () => takeBuffer(500_000).buffer);
    expect(kept.filter((memory) => taken.some(({ buffer }) => buffer === memory))).toHaveLength(6);
  });
});
