import { describe, expect, it } from 'vitest';
import { BUCKETS, HashBuckets, HashIndex } from '../../src/streams/hash-buckets.js';

describe('hash buckets', () => {
  it('give each entry to its bucket, in order, however many there are', () => {
    const found = new Map<number, number[]>();
    const buckets = new HashBuckets(5, (bucket, entries) => {
      const numbers = found.get(bucket) ?? [];
      for (let at = 0; at < entries.length; at += 5) numbers.push(entries[at + 4]!);
      found.set(bucket, numbers);
    });
    const count = 20_000;
    for (let from = 0; from < count; from += 100) {
      // Three in four stand in one bucket.
      const entries = Array.from({ length: 100 }, (_, at) => {
        const number = from + at;
        return [number % 4 === 0 ? number >> 2 : -1, 0, 0, 0, number];
      });
      buckets.add(Int32Array.from(entries.flat()));
    }
    buckets.end();
    expect(found.size).toBe(BUCKETS);
    expect(found.get(3)).toEqual(
      Array.from({ length: count }, (_, n) => n).filter((n) => n % 4 === 0 && ((n >> 2) & 255) === 3),
    );
    expect(found.get(255)!.length).toBeGreaterThan((count / 4) * 3);
  });
});

describe('a hash index', () => {
  it('finds entries by all four numbers of their hash, among many with the same first ones', () => {
    const rows = Array.from({ length: 1000 }, (_, n) => [7, 8, n % 2, n >> 1, n]);
    const entries = Int32Array.from(rows.flat());
    const index = new HashIndex();
    index.begin(entries, rows.length);
    for (let at = 0; at < entries.length; at += 5) expect(index.add(at)).toBe(-1);
    expect(index.find(Int32Array.of(7, 8, 1, 3, 0), 0)).toBe(7 * 5);
    expect(index.find(Int32Array.of(7, 9, 1, 3, 0), 0)).toBe(-1);
    expect(index.find(Int32Array.of(6, 8, 1, 3, 0), 0)).toBe(-1);
    expect(index.add(7 * 5)).toBe(7 * 5);
  });

  it('begins anew with other entries', () => {
    const index = new HashIndex();
    index.begin(Int32Array.of(1, 1, 1, 1), 1);
    index.add(0);
    index.begin(Int32Array.of(2, 1, 1, 1), 1);
    expect(index.find(Int32Array.of(1, 1, 1, 1), 0)).toBe(-1);
    expect(index.add(0)).toBe(-1);
    expect(index.find(Int32Array.of(2, 1, 1, 1), 0)).toBe(0);
  });
});
