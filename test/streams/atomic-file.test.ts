import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { syncFolder, writeFileAtomically } from '../../src/streams/atomic-file.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

describe('a file written atomically', () => {
  it("has its name and mode, and the writer's result is returned", async () => {
    const path = join(await folder(), 'a.txt');
    const returned = await writeFileAtomically(path, 0o666, async (file) => {
      writeFileSync(file, 'one ');
      writeFileSync(file, 'two');
      return 7;
    });
    expect(returned).toBe(7);
    expect(await readFile(path, 'utf8')).toBe('one two');
    expect((await stat(path)).mode & 0o777).toBe(0o666);
    expect(await readdir(await folder())).toEqual(['a.txt']);
  });

  it('is visible whole or not at all while it is written', async () => {
    const path = join(await folder(), 'a.txt');
    await writeFile(path, 'old');
    await writeFileAtomically(path, 0o600, async (file) => {
      writeFileSync(file, 'half');
      expect(await readFile(path, 'utf8')).toBe('old');
      writeFileSync(file, ' and half');
    });
    expect(await readFile(path, 'utf8')).toBe('half and half');
  });

  it('keeps the old file and leaves no other one when writing fails', async () => {
    const path = join(await folder(), 'a.txt');
    await writeFile(path, 'old');
    const write = writeFileAtomically(path, 0o600, async (file) => {
      writeFileSync(file, 'new');
      throw new Error('no more');
    });
    await expect(write).rejects.toThrow('no more');
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(await folder())).toEqual(['a.txt']);
  });

  it('replaces what a killed process left half-written', async () => {
    const path = join(await folder(), 'a.txt');
    await writeFile(`${path}.tmp`, 'rubbish that is longer than the file', { mode: 0o777 });
    await writeFileAtomically(path, 0o600, (file) => writeFileSync(file, 'new'));
    expect(await readFile(path, 'utf8')).toBe('new');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(await folder())).toEqual(['a.txt']);
  });

  it('does not replace a folder, and names it in the error', async () => {
    const path = join(await folder(), 'a.txt');
    await mkdir(path);
    const write = writeFileAtomically(path, 0o600, (file) => writeFileSync(file, 'new'));
    await expect(write).rejects.toMatchObject({ code: 'EISDIR' });
    expect(await readdir(await folder())).toEqual(['a.txt']);
  });
});

describe('syncing a folder', () => {
  it('ends for all who ask at the same time, and can be asked for again', async () => {
    const path = await folder();
    await Promise.all([syncFolder(path), syncFolder(path), syncFolder(path)]);
    await syncFolder(path);
  });

  it('fails for each of them where there is none, and not for those after it', async () => {
    const path = join(await folder(), 'later');
    const ends = await Promise.allSettled([syncFolder(path), syncFolder(path), syncFolder(path)]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await mkdir(path);
    await syncFolder(path);
  });

  it('fails for those who wait for a sync that fails, though the next one would not', async () => {
    const path = join(await folder(), 'later');
    const asked = [syncFolder(path), syncFolder(path)];
    mkdirSync(path);
    const ends = await Promise.allSettled(asked);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await syncFolder(path);
  });
});
