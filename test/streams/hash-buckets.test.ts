import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKETS, bucketOf, HashBuckets, HashMatcher } from '../../src/streams/hash-buckets.js';

describe('hash buckets', () => {
  it.each([5, 9, 13])(
    'give each entry of %d numbers to its bucket, in order, however many there are',
    (ints) => {
      const found = new Map<number, number[]>();
      const buckets = new HashBuckets(ints, (bucket, entries) => {
        expect(bucketOf(entries[0]!)).toBe(bucket);
        const numbers = found.get(bucket) ?? [];
        for (let at = 0; at < entries.length; at += ints) numbers.push(entries[at + ints - 1]!);
        found.set(bucket, numbers);
      });
      const count = 20_000;
      for (let from = 0; from < count; from += 100) {
        // Three in four stand in one bucket.
        const entries = Array.from({ length: 100 }, (_, at) => {
          const number = from + at;
          return [number % 4 === 0 ? number >> 2 : -1, ...Array(ints - 2).fill(0), number];
        });
        buckets.add(Int32Array.from(entries.flat()));
      }
      buckets.end();
      expect(found.size).toBe(BUCKETS);
      expect(found.get(3)).toEqual(
        Array.from({ length: count }, (_, n) => n).filter((n) => n % 4 === 0 && ((n >> 2) & 255) === 3),
      );
      expect(found.get(255)!.length).toBeGreaterThan((count / 4) * 3);
    },
  );
});

/** Few hashes, which differ in any of their four numbers. */
const hash = fc.tuple(...[0, 1, 2, 3].map(() => fc.constantFrom(0, 1, -1)));
const textOf = (one: readonly number[]) => one.join(' ');
const entriesOf = (hashes: readonly (readonly number[])[], ints: number) =>
  Int32Array.from(hashes.flatMap((one) => [...one, ...Array(ints - 4).fill(7)]));

describe('a hash matcher', () => {
  it('finds the first entry with the same hash', () => {
    const matcher = new HashMatcher();
    fc.assert(
      fc.property(fc.array(hash), (hashes) => {
        const texts = hashes.map(textOf);
        const expected = texts.map((text) => texts.indexOf(text));
        const isDoubled = new Set(texts).size < texts.length;
        const found = matcher.doubled(entriesOf(hashes, 5), 5);
        expect(found && [...found]).toEqual(isDoubled ? expected : undefined);
      }),
    );
  });
});
