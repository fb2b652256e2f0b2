/** Packed numbers come back as they were, and damaged ones are noticed or stay within their room. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BlockCodec } from '../../src/reuse/block-codec.js';
import { forTime } from '../helpers/properties/for-time.js';

const BUDGET = forTime(700, 5_000);
const numbers = fc.oneof(
  fc.array(fc.integer(), { maxLength: 60 }),
  fc.array(fc.constantFrom(1, 2, 0x2c313435, 0x302c3637), { maxLength: 400 }),
  fc
    .tuple(fc.array(fc.integer(), { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 300 }))
    .map(([some, times]) => Array.from({ length: times }, () => some).flat()),
  fc.tuple(fc.integer(), fc.integer({ min: 1, max: 3000 })).map(([one, times]) => Array(times).fill(one)),
);
const codec = new BlockCodec();

it('gives the numbers that were packed, however many of them are small', () => {
  fc.assert(
    fc.property(numbers, fc.nat(100), fc.boolean(), (given: number[], part, isKnown) => {
      const dictionary = Int32Array.from(isKnown ? given.slice(0, 50) : []);
      const ints = Int32Array.from([...given, 7]);
      const small = Math.floor((given.length * part) / 100);
      const half = Math.ceil(small / 2);
      const parts = [ints.subarray(0, half), ints.subarray(half, small)];
      const packed = codec.pack(parts, ints.subarray(small, given.length), dictionary).slice();
      const out = new Int32Array(given.length + 1);
      expect(codec.unpack(packed, out, given.length, small, dictionary)).toBe(true);
      expect([...out.subarray(0, given.length)]).toEqual(given);
      expect(codec.unpack(packed, out, given.length + 1, small, dictionary)).toBe(false);
      if (given.length > 0) expect(codec.unpack(packed, out, given.length - 1, 0, dictionary)).toBe(false);
    }),
    BUDGET,
  );
});

it('unpacks any bytes without an error', () => {
  const out = new Int32Array(100);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      codec.unpack(bytes, out, 100, 0, new Int32Array(3));
    }),
    BUDGET,
  );
});
