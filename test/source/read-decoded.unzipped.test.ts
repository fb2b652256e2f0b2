import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inspectFile } from '../../src/source/inspect-file.js';
import { scanSource } from '../../src/source/scan-source.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();
const format = { encoding: 'auto', delimiter: 'auto' };

it('knows gzip by its bytes and not by its name', async () => {
  const zipped = await inspectFile(await write('a.csv', gzipSync('a,b\n1,2\n')), format);
  const plain = await inspectFile(await write('b.csv.gz', 'a,b\n1,2\n'), format);
  expect([zipped.dialect.gzip, plain.dialect.gzip]).toEqual([true, false]);
  expect(zipped.columns).toEqual(plain.columns);
});

const first = gzipSync('a,b\n1,2\n');
const scan = async (content: Buffer) => {
  const path = await write('a.csv.gz', content);
  const { signal } = new AbortController();
  return scanSource({ paths: [path], ...format, maxRejected: { records: 0 }, maxRecordBytes: 1000, signal });
};

it.each([512, 3 << 20])(
  'takes %i zero bytes after the gzip data for padding, as gzip does',
  async (zeros) => {
    const content = Buffer.concat([first, Buffer.alloc(zeros)]);
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(await scan(content)).toMatchObject({ records: 1, sha256, files: [{ bytes: content.length }] });
  },
);

it.each([512, 3 << 20])('loses no records that follow %i zero bytes after the gzip data', async (zeros) => {
  for (const more of [gzipSync('3,4\n'), Buffer.from('3,4\n')]) {
    await expect(scan(Buffer.concat([first, Buffer.alloc(zeros), more]))).rejects.toMatchObject({
      code: 'SOURCE_UNREADABLE',
      message: expect.stringContaining('not gzip'),
      facts: { byte: first.length + zeros },
    });
  }
});
