import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { isGzip } from '../../src/source/read-decoded.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();

it('knows gzip by its bytes and not by its name', async () => {
  expect(isGzip(await write('a.csv', gzipSync('a,b')))).toBe(true);
  expect(isGzip(await write('b.csv.gz', 'a,b'))).toBe(false);
  expect(isGzip(await write('c.csv', ''))).toBe(false);
});
