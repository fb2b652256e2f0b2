import { describe, expect, it } from 'vitest';
import { findEscapes } from '../../src/csv/escaped-text.js';

const find = (text: string, delimiter = ',', isWhole = true) =>
  findEscapes(Buffer.from(text), delimiter.charCodeAt(0), isWhole);

describe('text with backslashes is recognized', () => {
  it.each([
    [
      'a Snowflake unload with its defaults',
      '1001,Smith\\, Jones & Co,12 Main St,MT\n1002,"Big" Bob,\\N,ID\n1003,Acme\\, Inc.,\\N,\\N\n',
      ',',
      'delimiters',
    ],
    ['with a header', 'ID,NAME,CITY\n1,a\\,b,\\N\n2,c,d\n', ',', 'delimiters'],
    ['with CRLF', 'ID,NAME\r\n1,a\\,b\r\n2,c\\,d\r\n', ',', 'delimiters'],
    ['a line end within a field', '1,two\\\nlines,x\n2,again\\\ntwo,y\n', ',', 'delimiters'],
    ['a line end in the last field', '1,two\\\nlines\n2,again\\\ntwo\n', ',', 'delimiters'],
    ['no delimiter in any field', '1,a,\\N\n2,\\N,MT\n3,c,ID\n', ',', 'nulls'],
    ['a Postgres COPY as text', '1\tJoe\\tX\t\\N\n2\tb\t\\N\n', '\t', 'nulls'],
    ['NULL at the end of CRLF lines', 'a|b\r\n1|\\N\r\n2|\\N\r\n', '|', 'nulls'],
    ['a single record', 'a,b\n1,\\N\n', ',', 'nulls'],
    ['a few enclosed names', '1,"Bob",\\N\n2,x,\\N\n3,y,z\n', ',', 'nulls'],
  ])('%s', (_, text, delimiter, found) => {
    expect(find(text, delimiter)).toBe(found);
  });
});

describe('CSV is not mistaken for it', () => {
  it.each([
    ['no backslash', 'a,b\n1,2\n'],
    ['Windows paths', 'a,b\nC:\\x\\,y\nD:\\New,\\\\srv\\N\n'],
    ['paths at the ends of lines', 'id,path\n1,C:\\x\\\n2,D:\\y\\\n3,E:\\z\\\n'],
    ['a single \\N among many', 'a,b\n1,\\N\n2,x\n3,y\n'],
    ['one record with too many fields', 'a,b\n1,x\\,y\n2,z\n'],
    ['quoted text with NULL as \\N', '"a","b"\n"1",\\N\n"2",\\N\n'],
    ['quotes where they are needed, with NULL as \\N', 'a,b\n"Smith, Joe",\\N\nx,\\N\n"say ""hi""",\\N\n'],
    ['escaped delimiters within quotes', 'a,b\n"1\\,2",x\n"3\\,4",y\n'],
    ['one column with backslashes at the ends of lines', 'a\nx\\\ny\n'],
    ['\\N in quotes, and within a text', 'a,b\n"\\N",x\\N\n"\\N",\\Ny\n'],
    ['fields that end with a backslash', 'a,b\nx\\,1\ny\\,2\nz\\,3\n'],
  ])('%s', (_, text) => {
    expect(find(text)).toBeUndefined();
  });

  it('a line that the sample cuts off', () => {
    expect(find('a,b\n1,\\N\n2,\\N', ',', false)).toBeUndefined();
    expect(find('a,b\n1,\\N\n2,\\N', ',', true)).toBe('nulls');
  });
});
