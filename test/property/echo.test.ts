/**
 * Random services, honest or not: either they are refused, or every record gets its own answer, or that of a record
 * from which no returned column distinguishes it.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { UntrustedError } from '../../src/errors.js';
import { foldText } from '../../src/results/column-kinds.js';
import { compareEchoes } from '../../src/results/compare-echoes.js';
import { joinResults } from '../../src/results/join-results.js';
import type { PartTable } from '../../src/results/part-table.js';
import type { RecordBlock } from '../../src/source/record-block.js';
import type { JoinMethod } from '../../src/types.js';
import { shuffled, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { blockOf, failed, successful } from '../helpers/csv/result-parts.js';
import { forTime } from '../helpers/properties/for-time.js';

const names = ['name', 'city', 'state'] as const;
const cell = fc.constantFrom('Bar', 'bar', 'Foo Ltd', 'FOO  ltd', 'Stra\u00dfe', 'x', '');
const mode = fc.constantFrom('exact', 'exact', 'exact', 'folded', 'answer', 'dropped');
const keys = fc.constantFrom('honest', 'honest', 'none', 'renumbered', 'shifted');

const setup = fc.record({
  chunks: fc.array(
    fc.array(
      fc.tuple(
        fc.oneof(cell, fc.string({ minLength: 3, maxLength: 5, unit: 'grapheme-ascii' })),
        cell,
        cell,
        fc.boolean(),
      ),
      {
        minLength: 1,
        maxLength: 12,
      },
    ),
    { minLength: 1, maxLength: 3 },
  ),
  modes: fc.tuple(mode, mode, mode),
  key: keys,
  /** The first chunk for which the service lies about keys. */
  from: fc.nat(2),
  /** Whether equal records always get equal answers. */
  isPure: fc.boolean(),
  failing: fc.boolean(),
  isReversed: fc.boolean(),
  seed: fc.nat(),
});
type Setup = typeof setup extends fc.Arbitrary<infer T> ? T : never;

const lies = ({ key }: Pick<Setup, 'key'>) => key === 'renumbered' || key === 'shifted';

/** What the service returns for the records of a chunk, whose first has this number. */
function answer(given: Setup, at: number, first: number): { parts: PartTable[]; codes: string[] } {
  const { modes, isPure, failing, seed } = given;
  const records = given.chunks[at]!;
  const key = lies(given) && at < given.from ? 'honest' : given.key;
  const codes = records.map(([a, b, c], n) => (isPure ? `for ${a}|${b}|${c}` : `c${first + n}`));
  const indexes = records.map((_, n) => n);
  const order = given.isReversed ? indexes.reverse() : shuffled(indexes, seed + at);
  const rows = order.map((n, row) => {
    const number =
      key === 'renumbered' ? first + row : first + ((n + (key === 'shifted' ? 1 : 0)) % records.length);
    const cells = modes.flatMap((how, column) => {
      const text = records[n]![column as 0 | 1 | 2];
      if (how === 'dropped') return [];
      if (how === 'answer') return [`answer ${n % 3}`];
      return [how === 'folded' ? ` ${text.toUpperCase()}` : text];
    });
    return {
      cells: [...(key === 'none' ? [] : [String(number)]), ...cells, codes[n]!],
      isFailed: failing && records[n]![3],
    };
  });
  const header = [...(key === 'none' ? [] : ['id']), ...names.filter((_, n) => modes[n] !== 'dropped')];
  const write = (last: string, isFailed: boolean) =>
    [[...header, last], ...rows.filter((row) => row.isFailed === isFailed).map(({ cells }) => cells)]
      .map((some) => writeCsvRecord(some, ',', (k) => (seed + k) % 2 === 0, '\n'))
      .join('');
  return { parts: [successful(write('code', false)), failed(write('reason', true))], codes };
}

function blockOfChunk(records: Setup['chunks'][number], firstRecord: number): Promise<RecordBlock> {
  const text = records.map(([a, b, c]) => writeCsvRecord([a, b, c], ',', () => false, '\n')).join('');
  return blockOf(text, { fields: 3, firstRecord });
}

/** For each chunk, the index of the record whose answer each record got; ends where the service is refused. */
async function joinAll(given: Setup): Promise<{ got: number[][]; refused: boolean }> {
  const fields = names.map((column, sourceField) => ({ column, sourceField }));
  const sent = { key: 'id', columns: [...names] };
  let method: JoinMethod | null = null;
  let first = 1;
  const got: number[][] = [];
  for (const [at, records] of given.chunks.entries()) {
    const { parts } = answer({ ...given, isPure: false }, at, first);
    const honest = answer(given, at, first);
    const block = await blockOfChunk(records, first);
    try {
      const terms = { sent, fields, method, declared: null, compare: compareEchoes };
      const found = joinResults(honest.parts, block, terms);
      method = found.method;
      // The same rows, with codes that show whose they are.
      const { joined } = found;
      got.push(
        records.map((_, n) => {
          const table = parts[joined.part[n]!]!;
          const end = table.ends[(joined.result[n]! + 1) * table.columns.length - 1]!;
          const start = table.ends[(joined.result[n]! + 1) * table.columns.length - 2]! + 1;
          const code = Buffer.from(table.bytes.subarray(start, end)).toString().replaceAll('"', '');
          return Number(code.slice(1)) - first;
        }),
      );
    } catch (error) {
      if (!(error instanceof UntrustedError)) throw error;
      return { got, refused: true };
    }
    first += records.length;
  }
  return { got, refused: false };
}

const limits = forTime(2_000, 3_000);

it('a service is refused, or every record has its own answer', async () => {
  await fc.assert(
    fc.asyncProperty(setup, async (given) => {
      // A service that returns nothing but numbers is trusted.
      fc.pre(!(lies(given) && given.modes.every((how) => how === 'dropped')));
      const { got } = await joinAll(given);
      const aligned = names.flatMap((_, n) =>
        ['exact', 'folded'].includes(given.modes[n]!) ? [n as 0 | 1 | 2] : [],
      );
      for (const [at, indexes] of got.entries()) {
        const records = given.chunks[at]!;
        let mixed = 0;
        let exchanged = 0;
        for (const [n, index] of indexes.entries()) {
          if (n === index) continue;
          expect(given.key === 'honest' || (lies(given) && at < given.from)).toBe(false);
          for (const column of aligned) {
            expect(foldText(records[index]![column])).toBe(foldText(records[n]![column]));
          }
          const isSame = [0, 1, 2].every((k) => records[index]![k as 0] === records[n]![k as 0]);
          if (!given.isPure || !isSame) mixed += 1;
          if (!isSame) exchanged += 1;
        }
        // At the first chunk at least: the limit of one in twenty, and a column that tells the records apart.
        if (at > 0 || mixed === 0) continue;
        const differ = [0, 1, 2].some((k) => new Set(records.map((record) => record[k as 0])).size > 1);
        const isDistinguished = aligned.some((k) => {
          const textOf = (text: string) => (given.modes[k] === 'exact' ? text : foldText(text));
          return new Set(records.map((record) => textOf(record[k]))).size > 1;
        });
        expect(isDistinguished || !differ).toBe(true);
        const counted = given.key === 'none' ? mixed : exchanged;
        expect(counted * 20).toBeLessThanOrEqual(records.length);
      }
    }),
    limits,
  );
});

it('an honest one never is', async () => {
  await fc.assert(
    fc.asyncProperty(setup, fc.boolean(), async (given, withKey) => {
      const modes = given.modes.map(() => 'exact') as unknown as Setup['modes'];
      const key = withKey ? ('honest' as const) : ('none' as const);
      // Equal records have equal results, failures included: without a number they are all the same.
      const honest = { ...given, modes, key, isPure: true, failing: withKey && given.failing };
      const { got, refused } = await joinAll(honest);
      expect(refused).toBe(false);
      for (const [at, indexes] of got.entries()) {
        const records = honest.chunks[at]!;
        for (const [n, index] of indexes.entries())
          expect(records[index]!.slice(0, 3)).toEqual(records[n]!.slice(0, 3));
      }
    }),
    limits,
  );
});
