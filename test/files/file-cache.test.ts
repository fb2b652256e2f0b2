/** Local copies of files that another machine may replace at any moment. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { createFileCache } from '../../src/files/file-cache.js';
import type { SharedFile, SharedFiles } from '../../src/files/shared-files.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

const fileOf = (file: string, content: string): SharedFile => ({
  name: 'choices/R1',
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
  age: 0,
  file,
  folder: null,
});

/** @param found what has the name at each look. @param contents those that are left, by their ids. */
function shared(found: (SharedFile | undefined)[], contents: Readonly<Record<string, string>>): SharedFiles {
  const only: Partial<SharedFiles> = {
    place: 'the database',
    find: async () => (found.length > 1 ? found.shift() : found[0]),
    read: ({ file }) => (contents[file] === undefined ? [] : [Buffer.from(contents[file])]),
  };
  return only as SharedFiles;
}

async function fetched(found: (SharedFile | undefined)[], contents: Readonly<Record<string, string>>) {
  const cache = createFileCache(shared(found, contents), await folder());
  const isThere = await cache.fetch('choices/R1');
  return isThere ? readFile(cache.pathOf('choices/R1'), 'utf8') : null;
}

it('a file that is replaced while it is read is no damaged file: the new one is taken', async () => {
  const [old, now] = [fileOf('1', 'old'), fileOf('2', 'new')];
  expect(await fetched([old, now], { 2: 'new' })).toBe('new');
  expect(await fetched([old, old, undefined], { 1: 'ol' })).toBe('');
  expect(await fetched([old, undefined], {})).toBeNull();
});
