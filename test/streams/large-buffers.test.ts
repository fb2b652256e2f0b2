import { describe, expect, it } from 'vitest';
import {
  adoptBuffer,
  freeMemory,
  giveBack,
  takeBuffer,
  takeNumbers,
} from '../../src/streams/large-buffers.js';

describe('a large buffer', () => {
  it('is freed at once when it is given back', () => {
    const { arrayBuffers } = process.memoryUsage();
    const taken = takeBuffer(50_000_000);
    expect(taken).toHaveLength(50_000_000);
    giveBack(taken.subarray(10));
    expect(taken).toHaveLength(0);
    expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(1_000_000);
  });

  it('has room for numbers too', () => {
    for (const length of [0, 1, 3, 1001, 100_000]) {
      const [one, other] = [takeNumbers(length).fill(7), takeNumbers(length).fill(8)];
      expect(one).toHaveLength(length);
      expect(one.every((number) => number === 7)).toBe(true);
      expect(other.every((number) => number === 8)).toBe(true);
    }
    const numbers = takeNumbers(100_000);
    giveBack(numbers);
    giveBack(numbers);
    expect(numbers).toHaveLength(0);
  });

  it('stays if it is small, or was neither taken nor adopted', () => {
    const small = takeBuffer(100);
    giveBack(small);
    expect(small).toHaveLength(100);

    const strange = Buffer.alloc(400_000);
    giveBack(strange);
    expect(strange).toHaveLength(400_000);
    adoptBuffer(strange);
    giveBack(strange);
    expect(strange).toHaveLength(0);
  });
});

describe('memory that was not taken', () => {
  it('is freed at once', () => {
    const numbers = new Int32Array(100_000);
    freeMemory(numbers);
    expect(numbers).toHaveLength(0);
  });

  it("stays if it is small, or is of Node's own pool", () => {
    const [small, shared] = [new Int32Array(100), Buffer.from('of a pool')];
    for (const array of [small, shared]) freeMemory(array);
    expect([small.length, shared.toString()]).toEqual([100, 'of a pool']);
  });

  it("stays if it is of Node's own pool, however large that is", () => {
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
