import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHeader, readNames } from '../../src/csv/read-header.js';

/** The header as csv-parse reads it; undefined if it refuses the text. */
function parseFirst(bytes: Buffer): { columns: string[]; bytes: number } | undefined {
  const options = { record_delimiter: ['\r\n', '\n'], skip_empty_lines: true, to: 1, info: true };
  try {
    const [first] = parse(bytes, options) as unknown as { record: string[]; info: { bytes: number } }[];
    return first && { columns: first.record, bytes: first.info.bytes };
  } catch {
    return undefined;
  }
}

const read = (text: string | Buffer, delimiter = ',') =>
  readHeader(Buffer.from(text as string), delimiter, 'x.csv');

describe('readHeader', () => {
  it.each([
    ['a,b\n1,2\n', ['a', 'b'], 4],
    ['a,b\r\n1,2\n', ['a', 'b'], 5],
    ['a,b', ['a', 'b'], 3],
    ['\n\r\na,b\n\n1,2', ['a', 'b'], 7],
    ['"näme, full","a ""b""",c\n', ['näme, full', 'a "b"', 'c'], 26],
    ['"two\nlines",b\r\nx', ['two\nlines', 'b'], 15],
  ])('reads %j', (text, columns, bytes) => {
    expect(read(text)).toEqual({ columns, bytes });
  });

  it('reads what csv-parse reads, from any text', () => {
    const letters = fc.constantFrom('a', 'é', ' ', ',', ';', '"', '\r', '\n', '\r\n');
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 12 }), (text) => {
        const bytes = Buffer.from(`${text.join('')}\nx,y\n`);
        const place = { name: 'x.csv', line: 1, byte: 0 };
        const expected = parseFirst(bytes);
        if (expected === undefined) expect(() => readNames(bytes, ',', place)).toThrow();
        else expect(readNames(bytes, ',', place)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('reads other delimiters', () => {
    expect(read('a,b;c\n', ';')).toEqual({ columns: ['a,b', 'c'], bytes: 6 });
  });

  it.each([
    ['', 'SOURCE_EMPTY'],
    ['\n\n', 'SOURCE_EMPTY'],
    ['a,b,a\n', 'SOURCE_COLUMN_TWICE'],
    ['a,,b\n', 'SOURCE_COLUMN_UNNAMED'],
    ['a," "\n', 'SOURCE_COLUMN_UNNAMED'],
    ['a,"b\n1,2\n', 'SOURCE_QUOTE_NOT_CLOSED'],
    ['a,b"c\n', 'SOURCE_QUOTE_MISPLACED'],
    ['a,\0\n', 'SOURCE_NUL'],
  ])('refuses %j with %s', (text, code) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining('x.csv'), hint: expect.any(String) }),
    );
  });

  it('refuses bytes that are not UTF-8, and names the setting', () => {
    expect(() => read(Buffer.from('caf\xe9,b\n', 'latin1'))).toThrow(
      expect.objectContaining({ code: 'SOURCE_ENCODING', hint: expect.stringContaining('source.encoding') }),
    );
  });
});
