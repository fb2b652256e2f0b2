/** Cutting a CSV into files: nothing is lost, no record is cut, and no file is larger than it may be. */
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findCuts } from '../../src/files/write-parts.js';

const cell = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom('', '\n', '"', '\r\n', 'a\n"b"\n', 'ü\n', ',', '""'),
);
const table = fc.tuple(
  fc.array(cell, { minLength: 2, maxLength: 2 }),
  fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 30 }),
);

function piecesOf(bytes: Buffer, length: number): Uint8Array[] {
  const count = Math.ceil(bytes.length / length);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * length, (at + 1) * length));
}

it('cuts behind records alone, as late as the largest size allows', async () => {
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 50 }),
      async ([names, rows], maxBytes, pieceBytes) => {
        const texts = [names, ...rows].map((row) => stringify([row]));
        const bytes = Buffer.from(texts.join(''));
        const { header, ends } = await findCuts(piecesOf(bytes, pieceBytes), maxBytes);
        expect(header).toBe(Buffer.byteLength(texts[0]!));

        let next = 1;
        let start = 0;
        for (const [at, end] of ends.entries()) {
          const sizes: number[] = [];
          const begin = at === 0 ? header : start;
          for (let position = begin; position < end; next++) {
            sizes.push(Buffer.byteLength(texts[next]!));
            position += sizes.at(-1)!;
            // Only the end of a record is an end.
            expect(position).toBeLessThanOrEqual(end);
          }
          const size = header + end - begin;
          if (sizes.length > 1) expect(size).toBeLessThanOrEqual(maxBytes);
          if (at < ends.length - 1) {
            expect(sizes.length).toBeGreaterThan(0);
            // One more record would not have fitted.
            expect(size + Buffer.byteLength(texts[next]!)).toBeGreaterThan(maxBytes);
          }
          start = end;
        }
        expect(start).toBe(bytes.length);
        expect(next).toBe(texts.length);
      },
    ),
  );
});
