import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inlined, insertText } from '../../../src/load/duckdb/dialect.js';
import { quoteName, quoteText } from '../../../src/sql-text.js';

describe('inlined', () => {
  it('replaces numbers by their values', () => {
    const text = 'select $1, $2, $3, $10';
    const values = ["it's $2", 7, null, ...Array(6).fill(0), 'tenth'];
    expect(inlined({ text, values })).toBe("select 'it''s $2', 7, null, 'tenth'");
  });

  it('leaves a name without quotes unchanged that holds a $', () => {
    expect(inlined({ text: 'delete from sales$1 where run = $1', values: ['x'] })).toBe(
      "delete from sales$1 where run = 'x'",
    );
  });

  it('leaves names and texts unchanged, whatever they hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '1', '"', "'", 'a', '\\') }), (odd) => {
        const begin = `update ${quoteName(odd)} set a = ${quoteText(odd)}, b = `;
        expect(inlined({ text: `${begin}$1`, values: ['x'] })).toBe(`${begin}'x'`);
      }),
    );
  });
});

it('an insert names the columns, casts where it must, and gives each row its run', () => {
  const columns = [
    { name: 'a "b"', cast: null },
    { name: 'n', cast: 'DECIMAL(3,2)' },
  ];
  const text = insertText({ table: '"t"', columns, run: "r'1" }, "/out/it's.csv");
  expect(text).toContain('insert into "t" ("a ""b""", "n", "foliopipe_run")');
  expect(text).toContain("select c0, cast(c1 as DECIMAL(3,2)), 'r''1'");
  expect(text).toContain("read_csv('/out/it''s.csv', auto_detect = false");
});
