import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { findFiles } from '../../src/source/source-files.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();

it('gives the files of a glob in byte order of their paths', async () => {
  const folder = dirname(await write('b.csv', ''));
  for (const name of ['é.csv', 'a.csv', 'B.csv', 'a10.csv', 'a9.csv', 'z.txt']) await write(name, '');
  await mkdir(join(folder, 'folder.csv'));
  const found = await findFiles(join(folder, '*.csv'));
  expect(found).toEqual(
    ['B.csv', 'a.csv', 'a10.csv', 'a9.csv', 'b.csv', 'é.csv'].map((name) => join(folder, name)),
  );
});

it('takes a name that exists as it stands', async () => {
  const path = await write('export[1]*.csv', '');
  expect(await findFiles(path)).toEqual([path]);
});

it('says what was not found', async () => {
  const folder = dirname(await write('a.csv', ''));
  const pattern = join(folder, '*.tsv');
  await expect(findFiles(pattern)).rejects.toMatchObject({ code: 'SOURCE_MISSING', facts: { pattern } });
  await expect(findFiles(join(folder, 'no.csv'))).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
});
