import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LoadColumn } from '../../src/load/load-target.js';
import { checkNames, foldName, parseTableName } from '../../src/load/names.js';
import { quoteText } from '../../src/load/postgres/dialect.js';
import { quoteName } from '../../src/sql-text.js';

const columns = (...names: string[]): LoadColumn[] => names.map((name) => ({ name, role: 'source' }));

describe('foldName', () => {
  it('makes only ASCII letters small', () => {
    expect(foldName('BusinessName ÄÖ')).toBe('businessname ÄÖ');
  });

  it('gives at most 63 bytes, and cuts no character', () => {
    const longest = 'x'.repeat(63);
    expect([longest, `${longest}y`].map(foldName)).toEqual([longest, longest]);
    expect(foldName(`${'x'.repeat(62)}é`)).toBe('x'.repeat(62));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 90 }), (name) => {
        const folded = foldName(name);
        expect(Buffer.byteLength(folded)).toBeLessThanOrEqual(63);
        expect(name.toLowerCase().startsWith(folded.toLowerCase())).toBe(true);
        expect(Buffer.from(folded).toString()).toBe(folded);
        expect(foldName(folded)).toBe(folded);
        if (folded.length < name.length) expect(Buffer.byteLength(folded) + 4).toBeGreaterThan(63);
      }),
    );
  });
});

describe('checkNames', () => {
  const check =
    (mode: 'append' | 'merge', ...names: string[]) =>
    () =>
      checkNames({ columns: columns(...names), mode }, new Set(['ctid']));
  const refused = expect.objectContaining({ code: 'LOAD_NAMES', exitCode: 2 });

  it('takes names that stay apart', () => {
    expect(check('merge', 'a', 'b', 'foliopipe_run', 'a b', 'ä', 'Ä')).not.toThrow();
  });

  it.each([
    ['a capital letter', ['Name', 'name']],
    ['what is behind 63 bytes', [`${'x'.repeat(63)}1`, `${'x'.repeat(63)}2`]],
    ['a system column', ['ctid']],
    ['a blank name', ['a', ' ']],
  ])('refuses names that differ by, or are, %s', (_, names) => {
    expect(check('merge', ...names)).toThrow(refused);
  });

  it('keeps the column of the run for itself', () => {
    expect(check('append', 'Foliopipe_Run')).toThrow(refused);
  });
});

it('quotes close nothing', () => {
  expect(quoteName('a"; drop table b; --')).toBe('"a""; drop table b; --"');
  expect(quoteText("it's")).toBe("'it''s'");
  expect(quoteText("\\'")).toBe(" E'\\\\'''");
});

describe('parseTableName', () => {
  it.each([
    ['Businesses', null, 'businesses'],
    ['analytics.Businesses', 'analytics', 'businesses'],
    ['"My Schema"."A.""B"', 'My Schema', 'A."B'],
    ['Ärzte', null, 'Ärzte'],
  ])('reads %s as SQL does', (table, schema, name) => {
    expect(parseTableName(table)).toEqual({ schema, name });
  });

  it.each(['', 'a b', 'a.b.c', '"a', 'a;drop table b', '""', '1a', 'a.', "'a'"])('refuses %j', (table) => {
    expect(() => parseTableName(table)).toThrow(expect.objectContaining({ code: 'LOAD_TABLE_NAME' }));
  });
});
