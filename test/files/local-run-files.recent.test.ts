import { appendFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRecentParts } from '../../src/files/local-run-files.js';
import { takeBuffer } from '../../src/streams/large-buffers.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

async function file(name: string): Promise<string> {
  const path = join(await folder(), name);
  await writeFile(path, 'compressed');
  return path;
}

describe('recent parts', () => {
  it('are given once', async () => {
    const recent = createRecentParts();
    const path = await file('a');
    const content = Buffer.from('one');
    recent.keep(path, 'hash', content);
    expect(recent.take(path, 'hash')).toBe(content);
    expect(recent.take(path, 'hash')).toBeUndefined();
  });

  it.each<[string, (path: string) => Promise<void>]>([
    ['removed', (path) => rm(path)],
    ['made longer', (path) => appendFile(path, 'x')],
    ['written over', (path) => utimes(path, 1, 1)],
    ['replaced', async (path) => rename(await file('other'), path)],
  ])('are not known when their file was %s', async (_, harm) => {
    const recent = createRecentParts();
    const path = await file('a');
    recent.keep(path, 'hash', Buffer.from('one'));
    await harm(path);
    expect(recent.take(path, 'hash')).toBeUndefined();
  });

  it('are not known under another hash or path', async () => {
    const recent = createRecentParts();
    const [path, other] = [await file('a'), await file('b')];
    recent.keep(path, 'hash', Buffer.from('one'));
    expect(recent.take(path, 'other')).toBeUndefined();
    expect(recent.take(other, 'hash')).toBeUndefined();
  });

  it('are the newest ones that fit; the memory of the others is freed', async () => {
    const recent = createRecentParts(250_000);
    const paths = await Promise.all(['a', 'b', 'c'].map(file));
    const contents = paths.map((path) => {
      const content = takeBuffer(100_000);
      recent.keep(path, path, content);
      return content;
    });
    expect(recent.take(paths[0]!, paths[0]!)).toBeUndefined();
    expect(contents[0]).toHaveLength(0);
    expect(recent.take(paths[2]!, paths[2]!)).toBe(contents[2]);
    recent.keep(paths[0]!, paths[0]!, takeBuffer(100_000));
    expect(recent.take(paths[1]!, paths[1]!)).toBe(contents[1]);
    recent.keep(paths[1]!, paths[1]!, takeBuffer(300_000));
    expect(recent.take(paths[1]!, paths[1]!)).toBeUndefined();
  });
});
