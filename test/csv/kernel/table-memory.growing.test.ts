import fc from 'fast-check';
import { expect, it } from 'vitest';
import { copyShifted } from '../../../src/csv/kernel/table-memory.js';

it('copyShifted shifts every offset once, and changes nothing else', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.nat(9), fc.integer({ min: 4090, max: 9000 })),
      fc.nat(5),
      fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }),
      (count, at, shift) => {
        const offsets = Int32Array.from({ length: count + 2 }, (_, index) => index * 7 + 1_000_000_000);
        const into = new Int32Array(at + count + 3).fill(-1);
        copyShifted(into, at, offsets.subarray(1, count + 1), shift);
        const moved = Array.from(offsets.subarray(1, count + 1), (offset) => offset + shift);
        expect([...into]).toEqual([...new Array(at).fill(-1), ...moved, -1, -1, -1]);
      },
    ),
    { numRuns: 300 },
  );
});
