/** Rows become the same objects as with csv-parse, whatever their names and values, and wherever a window ends. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRowReader } from '../../src/results/read-rows.js';
import { value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { forTime } from '../helpers/properties/for-time.js';

const BUDGET = forTime(500, 3_000);

const name = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', '0', '7', '', 'a b', "it's", '"', '\u2028', '{x}'),
  value,
);
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 5 });
/** Some are longer than a window. */
const long = fc.tuple(value, fc.constantFrom(1, 1, 1, 40_000)).map(([text, times]) => text.repeat(times));
const table = names.chain((columns) => {
  const row = fc.array(long, { minLength: columns.length, maxLength: columns.length });
  return fc.record({
    columns: fc.constant(columns),
    rows: fc.array(row, { maxLength: 6 }),
    isQuoted: fc.boolean(),
    times: fc.integer({ min: 1, max: 200 }),
  });
});

it('as csv-parse', () => {
  fc.assert(
    fc.property(table, ({ columns, rows, isQuoted, times }) => {
      const text = rows.map((row) => writeCsvRecord(row, ',', () => isQuoted, '\n')).join('');
      const bytes = Buffer.from(text.repeat(text.length < 2_000 ? times : 1));
      const read = [...createRowReader(columns)(bytes)].flat();
      const fieldOf = (row: object, column: string) => Object.getOwnPropertyDescriptor(row, column)?.value;
      const found = read.map((row) => columns.map((column) => fieldOf(row, column)));
      expect(found).toEqual(parse(bytes, { record_delimiter: '\n' }));
      for (const row of read) expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
    }),
    BUDGET,
  );
});

it('also where the program forbids code from texts', () => {
  const { Function: original } = globalThis;
  globalThis.Function = function refused() {
    throw new EvalError('code generation from strings is disallowed');
  } as unknown as FunctionConstructor;
  try {
    const [rows] = [...createRowReader(['__proto__', 'b'])(Buffer.from('1,"2 ""x"""\n'))];
    expect(Object.entries(rows![0]!)).toEqual([
      ['__proto__', '1'],
      ['b', '2 "x"'],
    ]);
  } finally {
    globalThis.Function = original;
  }
});
