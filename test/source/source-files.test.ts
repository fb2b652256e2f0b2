import fs from 'node:fs';
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { fileStamp, findFiles } from '../../src/source/source-files.js';
import { useFiles } from '../helpers/folders/folders.js';

const write = useFiles();

type Done = (error: Error | null, entries?: readonly fs.Dirent[]) => void;

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

  it('takes a name in this folder that begins with ! for that name, and not for all others', async () => {
    const path = await write('!a.csv', '');
    await write('b.csv', '');
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(dirname(path));
    try {
      expect(await findFiles(join(dirname(path), '!*.csv'))).toEqual([path]);
      await expect(findFiles(join(dirname(path), '!c.csv'))).rejects.toMatchObject({
        code: 'SOURCE_MISSING',
      });
    } finally {
      cwd.mockRestore();
    }
  });

  it.each([
    ['a file', 'b.csv', '*.csv'],
    ['a folder', 'b', '*/*.csv'],
    ['a folder at any depth', 'b', '**/*.csv'],
  ])('does not leave out %s that a dead link stands for', async (_, name, pattern) => {
    const folder = dirname(await write('a.csv', ''));
    await mkdir(join(folder, 'one'));
    await write('one/a.csv', '');
    // As an editor lays it beside a file that is being changed.
    await symlink('user@host.4711', join(folder, '.#a.csv'));
    expect(await findFiles(join(folder, pattern))).not.toEqual([]);
    for (const target of ['/nowhere/b', name]) {
      await symlink(target, join(folder, name));
      await expect(findFiles(join(folder, pattern))).rejects.toMatchObject({
        code: target === name ? 'SOURCE_UNREADABLE' : 'SOURCE_MISSING',
        facts: { file: join(folder, name), reason: target === name ? 'ELOOP' : 'ENOENT' },
      });
      await rm(join(folder, name));
    }
    await symlink('/nowhere', join(folder, 'other.tsv'));
    expect(await findFiles(join(folder, '*.csv'))).toEqual([join(folder, 'a.csv')]);
  });

  it.each(['EACCES', 'EMFILE', 'EIO'])(
    'does not leave out a folder that cannot be read: %s',
    async (code) => {
      const folder = dirname(await write('a.csv', ''));
      for (const name of ['one', 'two', 'lost+found']) {
        await mkdir(join(folder, name));
        await write(join(name, 'a.csv'), '');
      }
      const read = fs.readdir;
      const spy = vi
        .spyOn(fs, 'readdir')
        .mockImplementation(((path: string, options: object, done: Done) =>
          /two|lost/.test(path)
            ? done(Object.assign(new Error(`${code}: failed, scandir '${path}'`), { code, path }))
            : read(path, options as never, done as never)) as never);
      const found = findFiles(join(folder, '*', '*.csv'));
      await expect(found).rejects.toMatchObject({
        code: code === 'EMFILE' ? 'TOO_MANY_FILES' : 'SOURCE_UNREADABLE',
        message: expect.stringMatching(/two/),
      });
      spy.mockRestore();
    },
  );

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
