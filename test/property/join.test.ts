/** A join finds the record of every result, and never ignores a missing, doubled or strange one. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { UntrustedError } from '../../src/errors.js';
import { joinByEcho } from '../../src/results/join-by-echo.js';
import { joinByKey } from '../../src/results/join-by-key.js';
import { shuffled, value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { blockOf, successful } from '../helpers/csv/result-parts.js';
import { forTime } from '../helpers/properties/for-time.js';

const harm = fc.constantFrom('none', 'leave out', 'double', 'strange', 'swap');
const limits = forTime(1_500);

/** Damages the results so that a join must refuse them; `swap` only moves two of them. */
function harmed<T>(results: readonly T[], how: string, at: number, strange: T): T[] {
  const index = at % results.length;
  const changed = [...results];
  if (how === 'leave out') changed.splice(index, 1);
  if (how === 'double') changed.push(results[index]!);
  if (how === 'strange') changed[index] = strange;
  if (how === 'swap') changed.push(...changed.splice(index, 1));
  return changed;
}

it('by key', async () => {
  await fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 31 - 2 }), { minLength: 1, maxLength: 30 }),
      harm,
      fc.nat(),
      fc.boolean(),
      (numbers, how, seed, quoted) => {
        const sorted = Int32Array.from(numbers).sort();
        const results = harmed(shuffled(numbers, seed), how, seed, sorted.at(-1)! + 1);
        const split = seed % (results.length + 1);
        const write = (some: number[]) =>
          `x,id\n${some.map((n) => `x${n},${quoted ? `"${n}"` : n}\n`).join('')}`;
        const texts = [results.slice(0, split), results.slice(split)];
        const join = () =>
          joinByKey(
            texts.map((some, part) => successful(write(some), part)),
            'id',
            sorted,
          );
        if (how !== 'none' && how !== 'swap') expect(join).toThrow(UntrustedError);
        else {
          const joined = join();
          const found = [...sorted].map((_, i) => texts[joined.part[i]!]![joined.result[i]!]);
          expect(found).toEqual([...sorted]);
        }
      },
    ),
    limits,
  );
});

it('by echo', async () => {
  const record = fc.tuple(value, value);
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 15 }),
      harm,
      fc.nat(),
      async (records, how, seed) => {
        const write = (some: readonly (readonly string[])[], spread: number) =>
          some
            .map((cells, n) => writeCsvRecord(cells, ',', (k) => (spread + n + k) % 3 === 0, '\n'))
            .join('');
        const results = harmed(shuffled(records, seed), how, seed, ['not a record', '\u0001'] as [
          string,
          string,
        ]);
        const part = successful(`a,b\n${write(results, seed)}`);
        const block = await blockOf(write(records, 1), { fields: 2 });
        const join = () =>
          joinByEcho(
            [part],
            [
              { column: 'a', sourceField: 0, isFolded: false },
              { column: 'b', sourceField: 1, isFolded: false },
            ],
            block,
          );
        if (how !== 'none' && how !== 'swap') expect(join).toThrow(UntrustedError);
        else {
          const joined = join();
          expect([...joined.result].map((result) => results[result])).toEqual(records);
          expect(new Set(joined.result).size).toBe(records.length);
          expect(joined.indistinct.size).toBe(0);
        }
      },
    ),
    limits,
  );
});
