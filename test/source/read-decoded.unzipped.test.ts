import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inspectFile } from '../../src/source/inspect-file.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();
const format = { encoding: 'auto', delimiter: 'auto' };

it('knows gzip by its bytes and not by its name', async () => {
  const zipped = await inspectFile(await write('a.csv', gzipSync('a,b\n1,2\n')), format);
  const plain = await inspectFile(await write('b.csv.gz', 'a,b\n1,2\n'), format);
  expect([zipped.dialect.gzip, plain.dialect.gzip]).toEqual([true, false]);
  expect(zipped.columns).toEqual(plain.columns);
});
