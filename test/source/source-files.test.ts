import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fileStamp, findFiles } from '../../src/source/source-files.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();

describe('findFiles', () => {
  it('gives the files of a glob in byte order of their paths', async () => {
    const folder = dirname(await write('b.csv', ''));
    for (const name of ['é.csv', 'a.csv', 'B.csv', 'a10.csv', 'a9.csv', 'z.txt']) await write(name, '');
    await mkdir(join(folder, 'folder.csv'));
    const found = await findFiles(join(folder, '*.csv'));
    expect(found).toEqual(
      ['B.csv', 'a.csv', 'a10.csv', 'a9.csv', 'b.csv', 'é.csv'].map((name) => join(folder, name)),
    );
  });

  it('never reads the name of an existing file as a glob', async () => {
    const path = await write('export[1]*.csv', '');
    expect(await findFiles(path)).toEqual([path]);
  });

  it('says what was not found', async () => {
    const folder = dirname(await write('a.csv', ''));
    const pattern = join(folder, '*.tsv');
    await expect(findFiles(pattern)).rejects.toMatchObject({ code: 'SOURCE_MISSING', facts: { pattern } });
    await expect(findFiles(join(folder, 'no.csv'))).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
  });
});

describe('fileStamp', () => {
  it('differs when content or times do, and only then', async () => {
    const path = await write('a.csv', 'abc');
    const first = await fileStamp(path);
    expect(first.bytes).toBe(3);
    expect(await fileStamp(path)).toEqual(first);
    await utimes(path, 1, 2);
    const touched = await fileStamp(path);
    expect(touched.stamp).not.toBe(first.stamp);
    // Of two changes in one tick of the system's clock the stamp sees one.
    await setTimeout(20);
    await writeFile(path, 'xyz');
    await utimes(path, 1, 2);
    expect((await fileStamp(path)).stamp).not.toBe(touched.stamp);
    await writeFile(path, 'abcd');
    expect(await fileStamp(path)).toMatchObject({ bytes: 4 });
  });

  it('refuses what is not a file', async () => {
    await expect(fileStamp('/nowhere/a.csv')).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
    await expect(fileStamp('/tmp')).rejects.toMatchObject({ code: 'SOURCE_UNREADABLE' });
  });
});
