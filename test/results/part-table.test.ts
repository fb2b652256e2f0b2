import { describe, expect, it } from 'vitest';
import { fieldValue } from '../../src/csv/table.js';
import { UntrustedError } from '../../src/errors.js';
import { type PartTable, readPartTable } from '../../src/results/part-table.js';
import { successful, thrownBy } from '../helpers/csv/result-parts.js';

function valuesOf(table: PartTable): string[][] {
  return Array.from({ length: table.count }, (_, r) => table.columns.map((_, k) => fieldValue(table, r, k)));
}

describe('a part', () => {
  it('is a table of its fields, with LF, CRLF, quotes, blank lines and a byte order mark', () => {
    const table = successful('\u{feff}"id",b\r\n1,"x\r\n""y"""\n\n2,\r\n"3",é');
    expect(table.columns).toEqual(['id', 'b']);
    expect(valuesOf(table)).toEqual([
      ['1', 'x\r\n"y"'],
      ['2', ''],
      ['3', 'é'],
    ]);
  });

  it('that is empty, or a header alone, has no results', () => {
    expect(successful('')).toMatchObject({ columns: [], count: 0 });
    expect(successful('id,b\n')).toMatchObject({ columns: ['id', 'b'], count: 0 });
  });

  it('has its own header, even if the part before it began alike', () => {
    const headers = [
      'id,b',
      'id,bc\n1,2\n',
      'id,b\n1,x\n',
      'id,b,c\n1,2,3\n',
      'id,b\n\n1,y\n',
      '\u{feff}id,b\n1,z\n',
    ];
    const tables = headers.map((content) => successful(content));
    expect(tables.map(({ columns }) => columns.join('|'))).toEqual([
      'id|b',
      'id|bc',
      'id|b',
      'id|b|c',
      'id|b',
      'id|b',
    ]);
    expect(tables.map((table) => valuesOf(table).join(' '))).toEqual([
      '',
      '1,2',
      '1,x',
      '1,2,3',
      '1,y',
      '1,z',
    ]);
  });

  it('of several windows is one table', () => {
    const wide = 'é"",'.repeat(200);
    const rows = Array.from({ length: 2_000 }, (_, i) => `${i},"${wide}"\n`);
    const table = successful(`id,b\n${rows.join('')}`);
    expect(table.count).toBe(2_000);
    const values = valuesOf(table);
    expect(values.map(([id]) => id)).toEqual(rows.map((_, i) => String(i)));
    expect(new Set(values.map(([, text]) => text))).toEqual(new Set([wide.replaceAll('""', '"')]));
  });

  it.each([
    ['fields too many', 'a,b\n1,2,3\n'],
    ['fields too few', 'a,b\n1\n'],
    ['a quote that is never closed', 'a,b\n1,"2\n'],
    ['a quote in the middle', 'a,b\n1,2"3\n'],
    ['a column twice', 'a,a\n1,2\n'],
    ['a header without end', 'a,"b\n1,2\n'],
    ['a byte order mark and nothing else', '\u{feff}'],
    ['a NUL byte', 'a,b\n1,\0\n'],
    ['bytes that are not UTF-8', Buffer.from('a,b\n1,\xff\n', 'latin1')],
  ])('with %s is refused and named', (_, content) => {
    const read = () => readPartTable({ fileStatus: 'FAILED', part: 4 }, Buffer.from(content));
    const error = thrownBy(read);
    expect(error).toBeInstanceOf(UntrustedError);
    expect(error).toMatchObject({
      code: 'PART_MALFORMED',
      message: expect.stringMatching(/^FAILED part 4 /),
      facts: { part: 4, fileStatus: 'FAILED' },
    });
  });
});
