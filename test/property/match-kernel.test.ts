/** The kernel matches results to records as their texts do, whatever the quotes, and also where hashes collide. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HashKernel } from '../../src/csv/kernel/hash-kernel.js';
import { MatchKernel, matchByText, type TupleTable } from '../../src/csv/kernel/match-kernel.js';
import { TableMemory } from '../../src/csv/kernel/table-memory.js';
import type { Table } from '../../src/csv/table.js';
import { scramble, value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { blockOf, successful } from '../helpers/csv/result-parts.js';
import { forTime } from '../helpers/properties/for-time.js';

const few = fc.constantFrom('', 'a', 'b', '"', 'a,b', 'é', 'x'.repeat(17), `${'x'.repeat(16)}y`);
const cells = fc.tuple(fc.oneof(few, value), few);
const rows = fc.array(cells, { minLength: 1, maxLength: 12 });

const field = (index: number) => ({ field: index, fold: null });

it('matches as texts do', async () => {
  const kernel = new MatchKernel(new TableMemory());
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.array(rows, { maxLength: 3 }),
      fc.boolean(),
      fc.nat(),
      async (sent, some, isWhole, seed) => {
        const isQuoted = (spread: number) => (at: number) => scramble(seed + spread, at) % 3 === 0;
        const source = sent.map(([a, b], n) => writeCsvRecord([a, 'x', b], ';', isQuoted(n), '\n')).join('');
        // Parts with the results of all records, or with any others.
        const cut = seed % (sent.length + 1);
        const given = isWhole ? [sent.slice(cut), [], sent.slice(0, cut)] : some;
        const parts = given.map((results, part) => {
          const lines = results.map(([a, b], n) =>
            writeCsvRecord([b, `c${(seed >> n) & 1}`, a], ',', isQuoted(-n - part), '\n'),
          );
          return successful(`b,code,a\n${lines.join('')}`, part);
        });
        const records = {
          ...(await blockOf(source, { fields: 3, delimiter: ';' })),
          chosen: [field(0), field(2)],
        };
        const tables = parts.map((table) => ({ ...table, chosen: [field(2), field(0)] }));
        const { unequal, ...found } = kernel.match(
          records,
          tables,
          parts.map(() => 0),
        );
        const { unequal: repeated, ...expected } = matchByText(records, tables);
        expect(comparable(found)).toEqual(comparable(expected));
        if (isWhole) expect(found.unmatched).toEqual([]);
        const rawResult = (record: number) => rawRow(tables[found.part[record]!]!, found.result[record]!);
        expect(unequal).toEqual(
          repeated.filter((record) => rawResult(record) !== rawResult(found.first[record]!)),
        );
      },
    ),
    forTime(700, 2_000),
  );
});

it('tells values apart that have the same hash', async () => {
  const secret = new Uint8Array(16);
  const [one, other] = ['v7018', 'v97526'];
  // A tuple is hashed with the length behind each value.
  const text = [one, other].map((text) => `${text}${String.fromCharCode(text.length)}\0\0\0;`).join('\n');
  expect(new Set(hashesOf(text, secret)).size).toBe(1);
  const kernel = new MatchKernel(new TableMemory(), secret);
  const records = { ...(await blockOf(`${one}\n${other}\n`, { fields: 1 })), chosen: [field(0)] };
  const part = { ...successful(`a\n${other}\n${one}\n${one}\n`), chosen: [field(0)] };
  const { result, first, unmatched } = kernel.match(records, [part], [0]);
  expect([...result]).toEqual([1, 0]);
  expect([...first]).toEqual([0, 1]);
  expect(unmatched).toEqual([{ part: 0, result: 2, first: 0 }]);
});

/** The first 32 bits of the hash of each line, up to its semicolon. */
function hashesOf(text: string, secret: Uint8Array): readonly number[] {
  const bytes = Buffer.from(text);
  const lines = text.split('\n');
  const starts = Int32Array.from(lines, (_, at) => lines.slice(0, at).join('\n').length + Math.min(at, 1));
  const ends = starts.map((start, at) => start + lines[at]!.length - 1);
  const table: Table = { bytes, count: lines.length, fields: 1, starts, ends };
  const hashes = new HashKernel(secret, [0], 0x3b).hash(table);
  return lines.map((_, at) => hashes[4 * at]!);
}

function rawRow({ bytes, fields, starts, ends }: TupleTable, row: number): string {
  return Buffer.from(bytes.subarray(starts[row], ends[(row + 1) * fields - 1])).toString();
}

/** A record without a result has no index of one. */
function comparable({ part, result, first, unmatched }: Omit<ReturnType<typeof matchByText>, 'unequal'>) {
  return {
    part: [...part],
    result: [...result].map((row, record) => (part[record] === -1 ? null : row)),
    first: [...first],
    unmatched,
  };
}
