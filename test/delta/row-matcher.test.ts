import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MATCH_INTS, RowMatcher } from '../../src/delta/row-matcher.js';

/** Few hashes, which differ in any of their four numbers. */
const hash = fc.tuple(...[0, 1, 2, 3].map(() => fc.constantFrom(0, 1, -1)));
const textOf = (one: readonly number[]) => one.join(' ');

/** An entry of a row: the hashes of its key and of its values, its number, and what else it holds. */
const entryOf = (key: readonly number[], values: number, number: number, ints: number) => [
  ...key,
  values,
  7,
  7,
  7,
  number,
  ...Array(ints - 9).fill(9),
];

const ROWS = 100;
const largest = (ints: number) => ({ rows: ROWS, ints });

describe('a row matcher', () => {
  it.each([true, false])(
    'finds the rows of the base by their keys, in order or not; gives those that are the same: %s',
    (keepsSame) => {
      const keys = fc.uniqueArray(hash, { selector: textOf, maxLength: ROWS });
      fc.assert(
        fc.property(keys, keys, fc.nat(ROWS), (known, strange, from) => {
          const matcher = new RowMatcher(largest(9), largest(13), ROWS);
          const texts = known.map(textOf);
          const kept = known.slice(from);
          const others = [...kept, ...strange.filter((one) => !kept.map(textOf).includes(textOf(one)))];
          const isSame = (place: number) => place % 3 !== 0;
          matcher.base.set(known.flatMap((key, at) => entryOf(key, 1, at + 1, 9)));
          const values = (key: readonly number[]) => (isSame(texts.indexOf(textOf(key))) ? 1 : 2);
          matcher.output.set(others.flatMap((key, at) => entryOf(key, values(key), at + 1, 13)));
          const found = matcher.match(known.length, others.length, keepsSame)!;
          const expected = others.flatMap((key, at) => {
            const place = texts.indexOf(textOf(key));
            if (place < 0) return [[-1, at]];
            return isSame(place) && !keepsSame ? [] : [[place, at]];
          });
          const given = expected.map((_, at) => [...found.subarray(at * MATCH_INTS, at * MATCH_INTS + 2)]);
          expect(found.length).toBe(expected.length * MATCH_INTS);
          expect(given).toEqual(expected);
          const bits = matcher.kept();
          const rows = texts.flatMap((_, at) => ((bits[(at + 1) >> 3]! >> ((at + 1) & 7)) & 1 ? [at] : []));
          const shared = texts.flatMap((text, at) => (others.map(textOf).includes(text) ? [at] : []));
          expect(rows).toEqual(shared);
          matcher.release();
        }),
      );
    },
  );

  it.each([
    ['in the base', [1, 1], [2]],
    ['in the output, in the same order', [1, 2], [1, 1]],
    ['in the output', [1, 2, 3, 4, 5, 6, 7, 8], [8, 1, 8]],
  ])('finds a key that stands twice %s', (_, base, output) => {
    const matcher = new RowMatcher(largest(9), largest(9), ROWS);
    const entries = (keys: readonly number[]) =>
      keys.flatMap((key, at) => entryOf([key, key, key, key], 1, at + 1, 9));
    matcher.base.set(entries(base));
    matcher.output.set(entries(output));
    expect(matcher.match(base.length, output.length, false)).toBe(undefined);
  });
});
