import { beforeEach, describe, expect, it } from 'vitest';
import { adoptBuffer, freeMemory, giveBack, takeBuffer, takeNumbers } from '../../src/streams/buffer-pool.js';
import { emptyBufferPool } from '../helpers/streams/empty-buffer-pool.js';

describe('the buffer pool', () => {
  beforeEach(emptyBufferPool);

  it('is empty when a test begins, whatever earlier ones have left', () => {
    const lengths = [100_000, 900_000];
    const left = lengths.map(takeBuffer);
    for (const buffer of left) giveBack(buffer);
    const memories = left.map(({ buffer }) => buffer);
    emptyBufferPool();
    for (const length of lengths) expect(memories.includes(takeBuffer(length).buffer)).toBe(false);
  });

  it('gives again what was given back, never what is still taken', () => {
    const first = takeBuffer(100_000);
    const second = takeBuffer(100_000);
    expect(second.buffer === first.buffer).toBe(false);
    giveBack(first);
    const third = takeBuffer(70_000);
    expect(third.buffer === first.buffer).toBe(true);
    expect(third).toHaveLength(70_000);
    expect(takeBuffer(70_000).buffer === second.buffer).toBe(false);
  });

  it('gives no buffer that is too small', () => {
    giveBack(takeBuffer(10));
    expect(takeBuffer(200_000)).toHaveLength(200_000);
  });

  it('gives no buffer that is much too large', () => {
    const large = takeBuffer(900_000);
    giveBack(large);
    expect(takeBuffer(300_000).buffer === large.buffer).toBe(false);
    expect(takeBuffer(800_000).buffer === large.buffer).toBe(true);
  });

  it('takes back no buffer twice, and none that is not its own', () => {
    const own = takeBuffer(300_000);
    giveBack(own);
    giveBack(own);
    expect(takeBuffer(300_000).buffer === own.buffer).toBe(true);
    expect(takeBuffer(300_000).buffer === own.buffer).toBe(false);

    const strange = Buffer.alloc(400_000);
    giveBack(strange);
    expect(takeBuffer(400_000).buffer === strange.buffer).toBe(false);
    adoptBuffer(strange);
    giveBack(strange);
    expect(takeBuffer(400_000).buffer === strange.buffer).toBe(true);
  });

  it.each([
    ['small', 500_000, 40],
    ['large', 900_000, 10],
    ['larger than all that is kept', 3_000_000, 2],
  ])('keeps 1 MiB at most, of buffers that are %s, and frees the others at once', (_, length, count) => {
    const taken = Array.from({ length: count }, () => takeBuffer(length).buffer);
    const size = taken[0]!.byteLength;
    for (const memory of taken) giveBack(Buffer.from(memory));
    const isFreed = (memory: ArrayBufferLike) => memory.byteLength === 0;
    expect(taken.filter((memory) => !isFreed(memory))).toHaveLength(Math.floor((1024 * 1024) / size));
    // The oldest go first.
    expect(isFreed(taken[0]!)).toBe(true);
  });

  it('keeps what it has when a larger buffer than all of that comes back', () => {
    const kept = takeBuffer(300_000);
    giveBack(kept);
    giveBack(takeBuffer(3_000_000));
    expect(takeBuffer(300_000).buffer === kept.buffer).toBe(true);
  });

  it('gives room for numbers too, and takes it back', () => {
    const numbers = takeNumbers(100_000);
    expect(numbers).toHaveLength(100_000);
    giveBack(numbers);
    expect(takeNumbers(90_000).buffer === numbers.buffer).toBe(true);
    expect(takeNumbers(90_000).buffer === numbers.buffer).toBe(false);
    for (const length of [0, 1, 3, 1001]) expect(takeNumbers(length)).toHaveLength(length);
  });

  it('frees an array of its own at once', () => {
    const numbers = new Int32Array(100_000);
    freeMemory(numbers);
    expect(numbers).toHaveLength(0);
  });

  it("frees memory that is not of the pool at once, and leaves small arrays and those of Node's own pool alone", () => {
    const large = new Uint8Array(50_000_000);
    const { arrayBuffers } = process.memoryUsage();
    freeMemory(large);
    expect(large).toHaveLength(0);
    expect(arrayBuffers - process.memoryUsage().arrayBuffers).toBeGreaterThan(49_000_000);

    const [small, shared] = [new Int32Array(100), Buffer.from('of a pool')];
    for (const array of [small, shared]) freeMemory(array);
    expect([small.length, shared.toString()]).toEqual([100, 'of a pool']);
  });

  it("leaves Node's own pool alone, however large that is", () => {
    const { poolSize } = Buffer;
    Buffer.poolSize = 100_000;
    let shared = Buffer.from('of a pool');
    // Node uses up the pool that it has before it makes another one.
    while (shared.buffer.byteLength < Buffer.poolSize) shared = Buffer.from('of a pool');
    Buffer.poolSize = poolSize;
    freeMemory(shared);
    expect(shared.toString()).toBe('of a pool');
    expect(shared.buffer.byteLength).toBeGreaterThanOrEqual(100_000);
  });
});
