/** The kernel finds the echoes that differ from what was sent, as csv-parse reads both. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EchoExports } from '../../src/csv/kernel/echo-kernel.js';
import { EchoKernel } from '../../src/csv/kernel/echo-kernel.js';
import type { RowsExports } from '../../src/csv/kernel/rows-kernel.js';
import { TableMemory } from '../../src/csv/kernel/table-memory.js';
import { answersFromJoin } from '../../src/results/answers.js';
import { createEchoComparer } from '../../src/results/compare-echoes.js';
import { createOutputLayout } from '../../src/results/output-layout.js';
import { createRowWriter } from '../../src/results/row-writer.js';
import { shuffled, value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { blockOf, successful, thrownBy } from '../helpers/csv/result-parts.js';
import { forTime } from '../helpers/properties/for-time.js';

const long = fc.constantFrom('x'.repeat(15), 'x'.repeat(16), `${'y'.repeat(31)}"`, 'Z'.repeat(64));
const field = fc.oneof(value, value, long);
const change = fc.constantFrom('none', 'none', 'none', 'case', 'other', 'cut');
const setup = fc.record({
  records: fc.array(fc.tuple(fc.tuple(field, field, field), fc.tuple(change, change)), {
    minLength: 1,
    maxLength: 8,
  }),
  delimiter: fc.constantFrom(',', ';'),
  isFolded: fc.boolean(),
  seed: fc.nat(),
});
const strict = { record_delimiter: ['\r\n', '\n'], skip_empty_lines: true };
const lower = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

function changed(text: string, how: string): string {
  if (how === 'case') return lower(text);
  if (how === 'cut') return text.slice(0, -1);
  return how === 'other' ? `${text}!` : text;
}

it.each([
  ['in WebAssembly', new EchoKernel(new TableMemory())],
  ['field by field', new EchoKernel(new TableMemory(0))],
])('names each field that differs, and no other, %s', async (_, kernel) => {
  await fc.assert(
    fc.asyncProperty(setup, async ({ records, delimiter, isFolded, seed }) => {
      const isQuoted = (n: number) => (k: number) => (seed + n + k) % 3 === 0;
      const source = records
        .map(([cells], n) => writeCsvRecord(cells, delimiter, isQuoted(n), '\n'))
        .join('');
      // The third column comes back first, and unchanged.
      const back = shuffled(
        records.map(([[a, b, c], [forA, forB]], n) => ({
          n,
          cells: [c, changed(b, forB), 'code', changed(a, forA)],
        })),
        seed,
      );
      const text = back.map(({ cells }, n) => writeCsvRecord(cells, ',', isQuoted(n + 1), '\n')).join('');
      const table = successful(`c,b,code,a\n${text}`);
      const block = await blockOf(source, { fields: 3, delimiter });
      const result = Int32Array.from(records, (_, n) => back.findIndex((one) => one.n === n));

      const found: string[] = [];
      const pairs = [
        { sentField: 0, resultField: 3, isFolded },
        { sentField: 1, resultField: 1, isFolded },
        { sentField: 2, resultField: 0, isFolded },
      ];
      const part = { ...table, fields: table.columns.length, pairs };
      kernel.compare(block, [part], { part: new Int32Array(block.count), result }, (record, pair) => {
        found.push(`${record}/${pair}`);
      });

      const sent = parse(source, { ...strict, delimiter }) as string[][];
      const returned = parse(text, strict) as string[][];
      const expected = sent.flatMap((cells, n) =>
        [3, 1, 0].flatMap((at, pair) => {
          const [mine, its] = [cells[pair]!, returned[result[n]!]![at]!];
          const same = mine === its || (isFolded && lower(mine) === lower(its));
          return same ? [] : [`${n}/${pair}`];
        }),
      );
      expect(found).toEqual(expected);
    }),
    forTime(700, 2_000),
  );
});

it('keeps the tables loaded for the rows that are written next', async () => {
  const tables = new TableMemory<EchoExports & RowsExports>();
  const compare = createEchoComparer(new EchoKernel(tables));
  const source = { columns: ['name', 'note'], files: [{ dialect: { delimiter: ',' } }] };
  const layout = createOutputLayout(source, { columns: 'all', prefix: 'p_', lineage: false });
  const options = { run: 'R', layout, columns: ['code'], sentColumns: new Set(['id', 'name']) };
  const writers = [createRowWriter(options, tables), createRowWriter(options)];
  for (const names of [['a', 'b'], ['b', 'a', 'c'], ['d']]) {
    const block = await blockOf(names.map((name) => `${name},n\n`).join(''), { fields: 2 });
    const rows = names.map((name, at) => `${at + 1},${name},c-${name}\n`);
    const part = successful(`id,name,code\n${rows.join('')}`);
    const results = Int32Array.from(names, (_, at) => at);
    const joined = {
      parts: [part],
      part: new Int32Array(names.length),
      result: results,
      indistinct: new Set<number>(),
    };
    const kinds = { SUCCESSFUL: { name: 'exact' }, FAILED: {} } as const;
    const fields = [{ column: 'name', sourceField: 0 }];
    compare(block, joined, fields, kinds);
    const [shared, own] = writers.map((writer) =>
      writer.write(block, answersFromJoin(joined, { folio: 'F', answeredAt: 5 })).bytes.toString(),
    );
    expect(shared).toBe(names.map((name) => `${name},n,SUCCESSFUL,,,c-${name}\n`).join(''));
    expect(own).toBe(shared);
    const wrong = { ...joined, result: results.map((at) => names.length - 1 - at) };
    if (names.length === 1) continue;
    expect(thrownBy(() => compare(block, wrong, fields, kinds))).toMatchObject({
      code: 'RESULTS_DO_NOT_MATCH',
      exitCode: 6,
    });
  }
});
