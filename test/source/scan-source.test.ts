import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { BadRecord } from '../../src/csv/bad-record.js';
import { FoliopipeError } from '../../src/errors.js';
import { useFiles } from '../helpers/folders/folders.js';
import { scanPaths } from '../helpers/source/scan-paths.js';

const write = useFiles();

const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex');

describe('a source', () => {
  it('of one file has its dialect, counts and hash', async () => {
    const content = '\u{feff}näme;city\r\n"a;\nb";x\r\n\r\nc;y\r\n';
    const path = await write('a.csv', content);
    expect(await scanPaths([path])).toEqual({
      files: [
        {
          path,
          bytes: Buffer.byteLength(content),
          stamp: expect.stringMatching(/^\d+-\d+-\d+-\d+$/),
          sha256: sha256(content),
          records: 2,
          dialect: { encoding: 'utf8', bom: true, delimiter: ';', newline: 'CRLF', gzip: false },
          dataStart: 12,
        },
      ],
      columns: ['näme', 'city'],
      columnBytes: [4.5, 2],
      records: 2,
      rejected: 0,
      sha256: sha256(content),
    });
  });

  it('is the same text in gzip and in UTF-16, hashed as it is on disk', async () => {
    const text = `a,b\n${'é,📒\n'.repeat(50_000)}`;
    for (const content of [gzipSync(text), Buffer.from(`\u{feff}${text}`, 'utf16le')]) {
      const source = await scanPaths([await write('a.csv', content)]);
      expect(source).toMatchObject({ records: 50_000, sha256: sha256(content), files: [{ dataStart: 4 }] });
      const isZipped = content[0] === 0x1f;
      expect(source.files[0]!.unzippedBytes).toBe(isZipped ? Buffer.byteLength(text) : undefined);
    }
  });

  it('of several files has their records together, and a hash over their hashes', async () => {
    const [one, two] = ['a,b\n1,2\n', 'a,b\r\n3,4\r\n5,6'];
    const source = await scanPaths([await write('1.csv', one), await write('2.csv', two)]);
    expect(source).toMatchObject({ records: 3, sha256: sha256(`${sha256(one)}\n${sha256(two)}\n`) });
    expect(source.files.map((file) => file.records)).toEqual([1, 2]);
  });

  it('may have files without records, as long as one has some', async () => {
    const source = await scanPaths([await write('1.csv', 'a,b\n'), await write('2.csv', 'a,b\n1,2')]);
    expect(source.files.map((file) => file.records)).toEqual([0, 1]);
  });

  it('reports its progress', async () => {
    const content = `a,b\n${'1,2\n'.repeat(100_000)}`;
    const seen: { bytes: number; records: number }[] = [];
    await scanPaths([await write('1.csv', content), await write('2.csv', 'a,b\n3,4\n')], {
      onProgress: (progress) => seen.push(progress),
    });
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.map((p) => p.records)).toEqual(seen.map((p) => p.records).sort((a, b) => a - b));
    expect(seen.at(-1)).toEqual({ bytes: content.length + 8, records: 100_001 });
  });

  it('stops at once when the signal aborts', async () => {
    const abort = new AbortController();
    const path = await write('1.csv', `a,b\n${'1,2\n'.repeat(500_000)}`);
    const onProgress = () => abort.abort(new Error('enough'));
    await expect(scanPaths([path], { signal: abort.signal, onProgress })).rejects.toThrow('enough');
  });
});

describe('more records than there are numbers', () => {
  const files = async () => [
    await write('1.csv', 'a,b\n1,2\n3,4\n'),
    await write('2.csv', 'a,b\n5,6\nbad\n'),
  ];

  it('are refused, counted over all files with those that are rejected', async () => {
    const paths = await files();
    const allowed = { maxRejected: { share: 1 }, maxRecords: 4 } as const;
    expect(await scanPaths(paths, allowed)).toMatchObject({ records: 4, rejected: 1 });
    await expect(scanPaths(paths, { ...allowed, maxRecords: 3 })).rejects.toMatchObject({
      code: 'SOURCE_TOO_MANY_RECORDS',
      exitCode: 4,
      message: `${paths[1]}: with record 4 the source has more than 3 records`,
      hint: expect.stringContaining('cut the source'),
      facts: { file: paths[1], record: 4 },
    });
    await expect(scanPaths(paths, { ...allowed, maxRecords: 1 })).rejects.toMatchObject({
      code: 'SOURCE_TOO_MANY_RECORDS',
      facts: { file: paths[0], record: 2 },
    });
  });
});

describe('bad records', () => {
  const CONTENT = 'a,b\n"1\n1",2\nbad\n3,4\n5,"6\n7,8\n';

  it('are reported with file, record, line, byte and what to do', async () => {
    const path = await write('a.csv', CONTENT);
    await expect(scanPaths([path])).rejects.toMatchObject({
      code: 'SOURCE_FIELD_COUNT',
      exitCode: 4,
      message: expect.stringMatching(
        /^2 of 5 records are bad:\n {2}\S+a\.csv: record 2 \(line 4, byte 12\): the number of fields is 1, not 2: "bad"\n {2}record 4 \(line 6, byte 20\): a quoted field is never closed: /,
      ),
      hint: expect.stringContaining('--set source.maxRejected=2 '),
      facts: { file: path, record: 2, line: 4, byte: 12 },
    });
  });

  it('are counted and shown when they are rejected', async () => {
    const bad: BadRecord[] = [];
    const paths = [await write('1.csv', CONTENT), await write('2.csv', 'a,b\n9\n')];
    const source = await scanPaths(paths, { maxRejected: { share: 1 }, onReject: (one) => bad.push(one) });
    expect(source).toMatchObject({ records: 6, rejected: 3, files: [{ records: 5 }, { records: 1 }] });
    expect(bad.map(({ file, record, line, code }) => ({ file, record, line, code }))).toEqual([
      { file: 0, record: 2, line: 4, code: 'SOURCE_FIELD_COUNT' },
      { file: 0, record: 4, line: 6, code: 'SOURCE_QUOTE_NOT_CLOSED' },
      { file: 1, record: 6, line: 2, code: 'SOURCE_FIELD_COUNT' },
    ]);
  });

  it('of another encoding name the setting, which then reads them', async () => {
    const path = await write('a.csv', Buffer.from('a,b\ncaf\xe9,x\n', 'latin1'));
    await expect(scanPaths([path])).rejects.toMatchObject({
      code: 'SOURCE_ENCODING',
      facts: { record: 1, line: 2 },
      hint: expect.stringContaining('source.encoding'),
    });
    expect(await scanPaths([path], { encoding: 'windows-1252' })).toMatchObject({ records: 1 });
  });

  it('are found in a transcoded file too', async () => {
    const path = await write('a.csv', Buffer.from([...Buffer.from('a,b\n1,2\n3,'), 0x81, 0x0a]));
    await expect(scanPaths([path], { encoding: 'windows-1252' })).rejects.toMatchObject({
      code: 'SOURCE_ENCODING',
      facts: { record: 2 },
    });
  });
});

describe('no source at all', () => {
  it.each<[string, string, (string | Uint8Array)[]]>([
    ['SOURCE_EMPTY', 'an empty file', ['']],
    ['SOURCE_EMPTY', 'an empty file in gzip', [gzipSync('')]],
    ['SOURCE_EMPTY', 'empty lines', ['\n\n']],
    ['SOURCE_NO_RECORDS', 'a header alone', ['a,b\n']],
    ['SOURCE_NO_RECORDS', 'headers alone', ['a,b\n', 'a,b']],
    ['SOURCE_UNREADABLE', 'gzip that is cut off', [gzipSync('a,b\n1,2\n').subarray(0, 20)]],
    [
      'SOURCE_UNREADABLE',
      'rubbish after gzip',
      [Buffer.concat([gzipSync('a,b\n1,2\n'), Buffer.alloc(600_000, 'x')])],
    ],
    ['SOURCE_RECORD_TOO_LARGE', 'a header without end', [`a,b${' '.repeat(300_000)}`]],
    ['SOURCE_DELIMITERS_DIFFER', 'other delimiters', ['a,b\n1,2\n', 'a;b\n1;2\n']],
  ])('%s: %s', async (code, _, contents) => {
    const paths: string[] = [];
    for (const [i, content] of contents.entries()) paths.push(await write(`${i}.csv`, content));
    const error = await scanPaths(paths).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FoliopipeError);
    expect(error).toMatchObject({ code, exitCode: 4, hint: expect.any(String) });
    expect((error as Error).message).toContain(paths[0]);
  });

  it('SOURCE_HEADERS_DIFFER: names both files and the first column that differs', async () => {
    const [one, two] = [await write('1.csv', 'a,b,c\n1,2,3\n'), await write('2.csv', 'a,x,y\n1,2,3\n')];
    await expect(scanPaths([one, two])).rejects.toMatchObject({
      code: 'SOURCE_HEADERS_DIFFER',
      message: `column 2 is "b" in ${one} and "x" in ${two}`,
      facts: { file: one, otherFile: two, column: 2 },
    });
    const three = await write('3.csv', 'a,b\n1,2\n');
    await expect(scanPaths([one, three])).rejects.toThrow(
      `column 3 is "c" in ${one} and missing in ${three}`,
    );
  });

  it('SOURCE_HEADERS_DIFFER: names the delimiters where different ones were detected', async () => {
    const one = await write('1.csv', 'a;b\n1;2\n3;4\n');
    const two = await write('2.csv', 'a;b\n1;2;3\n4;5;6;7\n');
    const error = await scanPaths([one, two]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'SOURCE_HEADERS_DIFFER',
      message: `column 1 is "a" in ${one} and "a;b" in ${two}; the delimiter was detected as ";" in ${one} and as "," in ${two}`,
      hint: expect.stringMatching(/source\.delimiter/),
      facts: { file: one, otherFile: two, column: 1, delimiter: ';', otherDelimiter: ',' },
    });
  });

  it('SOURCE_NO_RECORDS: a query without a row gets no hints for CSV files', async () => {
    const path = await write('a.csv', 'a,b\n');
    await expect(scanPaths([path], { isOurs: true })).rejects.toMatchObject({
      code: 'SOURCE_NO_RECORDS',
      message: `${path}: columns and no row`,
      hint: expect.stringMatching(/^(?!.*(encoding|delimiter)).*source\.query/),
    });
  });

  it('SOURCE_ENCODING: UTF-8 is not suggested for a file that was read as such', async () => {
    const path = await write('a.csv', Buffer.from('a,b\n1,caf\xe9\n', 'latin1'));
    await expect(scanPaths([path])).rejects.toMatchObject({
      code: 'SOURCE_ENCODING',
      hint: expect.stringMatching(/^(?!.*utf8).*windows-1252/),
    });
  });

  it('SOURCE_ENCODING: no other encoding is suggested for a file with the byte order mark of UTF-8', async () => {
    const mark = Buffer.from([0xef, 0xbb, 0xbf]);
    const path = await write('a.csv', Buffer.concat([mark, Buffer.from('a,b\n1,caf\xe9\n2,c\n', 'latin1')]));
    await expect(scanPaths([path])).rejects.toMatchObject({
      code: 'SOURCE_ENCODING',
      hint: expect.stringMatching(/^(?!.*windows-1252).*byte order mark.*source\.maxRejected=1/s),
    });
    const header = await write('b.csv', Buffer.concat([mark, Buffer.from('a,Stra\xdfe\n1,c\n', 'latin1')]));
    await expect(scanPaths([header])).rejects.toMatchObject({
      code: 'SOURCE_ENCODING',
      hint: expect.stringMatching(/^(?!.*windows-1252).*byte order mark/),
    });
  });

  it('SOURCE_NO_RECORDS: every record is rejected', async () => {
    const path = await write('a.csv', 'a,b\n1;2\n3;4\n');
    await expect(scanPaths([path], { maxRejected: { share: 1 } })).rejects.toMatchObject({
      code: 'SOURCE_NO_RECORDS',
      facts: { records: 2, rejected: 2 },
    });
  });

  it('SOURCE_MISSING and SOURCE_UNREADABLE: no file, a dead link, a folder', async () => {
    const path = await write('a.csv', 'a,b\n1,2\n');
    await symlink('/nowhere', `${path}.link`);
    await expect(scanPaths([])).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
    await expect(scanPaths([`${path}.no`])).rejects.toMatchObject({
      code: 'SOURCE_MISSING',
      facts: { file: `${path}.no` },
    });
    await expect(scanPaths([`${path}.link`])).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
    await expect(scanPaths([dirname(path)])).rejects.toMatchObject({ code: 'SOURCE_UNREADABLE' });
  });

  it('SOURCE_CHANGED: the file grows while it is read', async () => {
    const path = await write('a.csv', `a,b\n${'1,2\n'.repeat(100_000)}`);
    const onProgress = () => appendFileSync(path, '3,4\n');
    await expect(scanPaths([path], { onProgress })).rejects.toMatchObject({ code: 'SOURCE_CHANGED' });
  });
});
