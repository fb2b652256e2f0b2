import { utimes, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { fileStamp } from '../../src/source/source-files.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();

it('differs when content or times do, and only then', async () => {
  const path = await write('a.csv', 'abc');
  const first = await fileStamp(path);
  expect(first.bytes).toBe(3);
  expect(await fileStamp(path)).toEqual(first);
  await utimes(path, 1, 2);
  const touched = await fileStamp(path);
  expect(touched.stamp).not.toBe(first.stamp);
  await writeFile(path, 'abcd');
  expect(await fileStamp(path)).toMatchObject({ bytes: 4 });
});

it('refuses what is not a file', async () => {
  await expect(fileStamp('/nowhere/a.csv')).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
  await expect(fileStamp('/tmp')).rejects.toMatchObject({ code: 'SOURCE_UNREADABLE' });
});
