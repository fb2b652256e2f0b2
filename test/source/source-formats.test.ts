import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import type { BadRecord } from '../../src/csv/bad-record.js';
import { readRecords } from '../../src/source/read-records.js';
import type { ScanSourceOptions } from '../../src/source/scan-source.js';
import { PIECE_BYTES } from '../../src/streams/read-pieces.js';
import { recordsOf } from '../helpers/csv/batches.js';
import { useFiles } from '../helpers/folders/folders.js';
import { scanPaths } from '../helpers/source/scan-paths.js';

const write = useFiles();

/** Columns and values of a source; each record is also read from its own position on. */
async function contentOf(contents: readonly (string | Buffer)[], changes: Partial<ScanSourceOptions> = {}) {
  const paths: string[] = [];
  for (const [at, content] of contents.entries()) paths.push(await write(`${at}.csv`, content));
  const source = await scanPaths(paths, changes);
  const options = { maxRecordBytes: 1_000_000, onBadRecord: () => undefined };
  const first = { position: { file: 0, offset: source.files[0]!.dataStart }, record: 1 };
  const found: { file: number; record: number; byte: number; values: readonly string[] }[] = [];
  for await (const batch of readRecords(source, first, options)) {
    found.push(...recordsOf(batch).map((record) => ({ ...record, file: batch.file })));
  }
  for (const [at, { file, byte, record }] of found.entries()) {
    const rest: (readonly string[])[] = [];
    const from = { position: { file, offset: byte }, record };
    for await (const batch of readRecords(source, from, options)) {
      rest.push(...recordsOf(batch).map(({ values }) => values));
    }
    expect(rest).toEqual(found.slice(at).map(({ values }) => values));
  }
  return { source, columns: source.columns, values: found.map(({ values }) => values) };
}

const encodings: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['UTF-8', (text) => Buffer.from(text)],
  ['UTF-8 with a BOM', (text) => Buffer.from(`\u{feff}${text}`)],
  ['UTF-16', (text) => iconv.encode(text, 'utf16le', { addBOM: true })],
  ['gzip', (text) => gzipSync(text)],
  ['gzip with a BOM', (text) => gzipSync(`\u{feff}${text}`)],
];

describe.each(encodings)('in %s', (_, encode) => {
  it('quotes are text where the config says so', async () => {
    const { columns, values } = await contentOf(
      [encode('id\tna"me"\r\n1\t"Joe\'s" Diner\r\n2\t5" pipe\n3\t""\n')],
      {
        quote: 'none',
      },
    );
    expect(columns).toEqual(['id', 'na"me"']);
    expect(values).toEqual([
      ['1', '"Joe\'s" Diner'],
      ['2', '5" pipe'],
      ['3', '""'],
    ]);
  });

  it('lines before the header are skipped, whatever they hold', async () => {
    const title = 'Report "of, the\r"night;\r\n\nas,of 2024\r';
    for (const quote of ['auto', 'none'] as const) {
      const { columns, values } = await contentOf([encode(`${title}id,name\n1,a\n2,b\n`)], {
        skipLines: 4,
        quote,
      });
      expect(columns).toEqual(['id', 'name']);
      expect(values).toEqual([
        ['1', 'a'],
        ['2', 'b'],
      ]);
    }
  });

  it('a file without a header has the names of the config', async () => {
    const files = ['1,a\n2,b\n', '3,c'].map((text) => encode(`made by x\n${text}`));
    const { columns, values } = await contentOf(files, { header: ['id', 'name'], skipLines: 1 });
    expect(columns).toEqual(['id', 'name']);
    expect(values.map(([id]) => id)).toEqual(['1', '2', '3']);
  });
});

describe('source.quote: none', () => {
  it('rejects records as they are in the file', async () => {
    const path = await write('a.csv', 'a,b\n1,x\n"2",y,z"\n3,"\0\n4,y\n');
    const rejected: BadRecord[] = [];
    const source = await scanPaths([path], {
      quote: 'none',
      maxRejected: { records: 2 },
      onReject: (bad) => rejected.push({ ...bad, raw: Buffer.from(bad.raw) }),
    });
    expect(source).toMatchObject({ records: 4, rejected: 2, files: [{ dialect: { quote: 'none' } }] });
    expect(rejected.map(({ code, line, raw }) => [code, line, raw.toString()])).toEqual([
      ['SOURCE_FIELD_COUNT', 3, '"2",y,z"'],
      ['SOURCE_NUL', 4, '3,"\0'],
    ]);
    await expect(scanPaths([path], { quote: 'none' })).rejects.toThrow(
      `record 2 (line 3, byte 8): the number of fields is 3, not 2: ""2",y,z""`,
    );
  });
});

describe('text with backslashes', () => {
  const text = '1\t5" pipe\t\\N\tMT\n2\t"Bob" Inc\t\\N\tID\n';

  it('is refused, also where quotes hide the delimiter', async () => {
    const path = await write('a.tsv', text);
    await expect(scanPaths([path])).rejects.toMatchObject({
      code: 'SOURCE_ESCAPED',
      exitCode: 4,
      hint: expect.stringContaining('source.quote: none'),
    });
  });

  it('is read unchanged if the config says that quotes are text', async () => {
    const { values } = await contentOf([text], { quote: 'none', header: ['id', 'name', 'zip', 'state'] });
    expect(values).toEqual([
      ['1', '5" pipe', '\\N', 'MT'],
      ['2', '"Bob" Inc', '\\N', 'ID'],
    ]);
    const path = await write('b.tsv', text);
    await expect(scanPaths([path], { quote: 'none', header: ['id'] })).rejects.toThrow(
      'has 4 fields: "1\\u{9}5" pipe',
    );
  });
});

describe('source.header', () => {
  it('first: names may be doubled or empty', async () => {
    expect((await contentOf(['a,,a, \n1,2,3,4\n'])).columns).toEqual(['a', '', 'a', ' ']);
  });

  it('rename: numbers them', async () => {
    const { columns } = await contentOf(['a,,a, ,a_2,a,column_4\n1,2,3,4,5,6,7\n'], { header: 'rename' });
    expect(columns).toEqual(['a', 'column_2', 'a_3', 'column_4_2', 'a_2', 'a_4', 'column_4']);
  });

  it.each([
    [
      '1,2,3\n4,5,6\n',
      ['a', 'b'],
      'SOURCE_HEADER_COUNT',
      'names 2 columns, and the first record (line 1) has 3 fields: "1,2,3',
    ],
    [
      '1\n2\n',
      ['a', 'b'],
      'SOURCE_HEADER_COUNT',
      'names 2 columns, and the first record (line 1) has 1 field: "1',
    ],
    ['a,b\n1,2\n', ['a', 'b'], 'SOURCE_HEADER_FOUND', 'the file has a header'],
    ['1,2\r3,4\r', ['a', 'b'], 'SOURCE_LINE_ENDS', 'CR without LF'],
    ['\n\n', ['a', 'b'], 'SOURCE_NO_RECORDS', ': no record (encoding utf8, delimiter "," (detected'],
    [
      '1,"2\n',
      ['a', 'b'],
      'SOURCE_QUOTE_NOT_CLOSED',
      'record 1 (line 1, byte 0): a quoted field is never closed',
    ],
  ])('as a list, of %j: %j is %s', async (content, header, code, message) => {
    const path = await write('a.csv', content);
    await expect(scanPaths([path], { header })).rejects.toMatchObject({
      code,
      exitCode: 4,
      message: expect.stringContaining(message),
      hint: expect.any(String),
    });
  });

  it('as a list takes a single record with a CR in quotes', async () => {
    const { values } = await contentOf(['1,"a\rb"'], { header: ['id', 'name'] });
    expect(values).toEqual([['1', 'a\rb']]);
  });

  it('as a list must fit each file', async () => {
    const paths = [await write('1.csv', '1,2\n'), await write('2.csv', '1,2,3\n')];
    await expect(scanPaths(paths, { header: ['a', 'b'] })).rejects.toThrow(
      `${paths[1]}: source.header names 2 columns`,
    );
  });
});

describe('source.skipLines', () => {
  it.each([
    ['a\nb', 3, 'source.skipLines is 3, and the file has 2 lines'],
    ['a\r\nb\r\n', 2, 'source.skipLines is 2, and the file has 2 lines'],
    ['a\r', 9, 'source.skipLines is 9, and the file has 1 line'],
  ])('of %j: %i are too many', async (content, skipLines, message) => {
    const path = await write('a.csv', content);
    await expect(scanPaths([path], { skipLines })).rejects.toMatchObject({
      code: 'SOURCE_LINES_SKIPPED',
      message: expect.stringContaining(message),
    });
  });

  it('may skip more than is read to find the dialect', async () => {
    const title = 'x,y;z\n'.repeat(200_000);
    const { columns, source } = await contentOf([`${title}a;b\r\n1;2\r\n`], { skipLines: 200_000 });
    expect(columns).toEqual(['a', 'b']);
    const skippedBytes = title.length;
    expect(source.files[0]).toMatchObject({
      dialect: { newline: 'CRLF', skippedBytes },
      dataStart: skippedBytes + 5,
    });
  });

  it('skips no line feed after the lines, also where the next piece of the file begins', async () => {
    const title = `${'x'.repeat(PIECE_BYTES - 8)}\r`;
    const { source, values } = await contentOf([`${title}a,b\n1,2\n3,4\n`], { skipLines: 1 });
    expect(values).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
    expect(source.files[0]).toMatchObject({ dataStart: title.length + 4 });
  });

  it('counts in the lines of errors', async () => {
    const path = await write('a.csv', 'title\n\nid,name\n1,a\n2\n');
    await expect(scanPaths([path], { skipLines: 2 })).rejects.toThrow('record 2 (line 5, byte 19)');
    await expect(scanPaths([await write('b.csv', 'title\n"a,b\n')], { skipLines: 1 })).rejects.toThrow(
      'header (line 2, byte 6): a quoted name is never closed',
    );
  });
});
