import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writeObjects } from '../../src/spool/write-objects.js';
import { value } from '../helpers/csv/generated-csv.js';
import { forTime } from '../helpers/properties/for-time.js';

const BUDGET = forTime(300, 2_000);

async function written(objects: readonly object[], columns?: readonly string[]): Promise<Buffer> {
  const items = objects[Symbol.iterator]();
  const pieces: Buffer[] = [];
  for await (const piece of writeObjects(() => items.next(), columns)) pieces.push(piece);
  return Buffer.concat(pieces);
}

it('writes what csv-parse reads back, whatever the keys and the texts', async () => {
  const table = fc
    .uniqueArray(fc.oneof(fc.constantFrom('__proto__', '7', '\ufeffname', ''), value), {
      minLength: 1,
      maxLength: 4,
    })
    .chain((columns) => {
      const row = fc.array(value, { minLength: columns.length, maxLength: columns.length });
      return fc.tuple(fc.constant(columns), fc.array(row, { minLength: 1, maxLength: 5 }));
    });
  await fc.assert(
    fc.asyncProperty(table, async ([columns, rows]) => {
      const objects = rows.map((row) => Object.fromEntries(row.map((text, at) => [columns[at]!, text])));
      // Keys that look like numbers come first in every object.
      const keys = Object.keys(objects[0]!);
      const expected = rows.map((row) => keys.map((key) => row[columns.indexOf(key)]));
      const csv = await written(objects);
      expect(parse(csv, { bom: true, record_delimiter: '\n' })).toEqual([keys, ...expected]);
    }),
    BUDGET,
  );
});

it('writes each kind of value as a text, in the order of the columns, and no header if they are given', async () => {
  const values = { n: 1.5, big: 12n, yes: true, at: new Date(0), none: null, left: undefined, text: 'a' };
  const reordered = Object.fromEntries(Object.entries(values).reverse());
  const row = '1.5,12,true,1970-01-01T00:00:00.000Z,,,a\n';
  expect(String(await written([values, reordered]))).toBe(`n,big,yes,at,none,left,text\n${row}${row}`);
  expect(
    String(
      await written(
        [
          { a: '', b: 'x' },
          { a: 'y', b: '' },
        ],
        ['b', 'a'],
      ),
    ),
  ).toBe('x,\n,y\n');
  expect(String(await written([{ a: '' }]))).toBe('a\n""\n');
});

it('writes a text that begins as a byte order mark so that it keeps it, also without a header', async () => {
  const mark = '\ufeffAcme';
  for (const columns of [undefined, ['a', 'b']]) {
    const read = parse(await written([{ a: mark, b: '' }], columns), { bom: true }) as string[][];
    expect(read.at(-1)).toEqual([mark, '']);
  }
});
