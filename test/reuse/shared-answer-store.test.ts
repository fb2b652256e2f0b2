/** The answer store that all machines share, where two processes of one machine begin at once. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createFileCache } from '../../src/files/file-cache.js';
import type { SharedFile, SharedFiles } from '../../src/files/shared-files.js';
import { createSharedAnswerStore } from '../../src/reuse/shared-answer-store.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

/** @param beforeFirst called before a first file is read. */
function sharedFiles(beforeFirst: () => Promise<unknown>): SharedFiles {
  const files = new Map<string, SharedFile & { readonly content: Buffer }>();
  const only: Partial<SharedFiles> = {
    place: 'the database',
    find: async (name) => files.get(name),
    list: async (beginning) => [...files.values()].filter(({ name }) => name.startsWith(beginning)),
    putFirst: async (name, path) => {
      await beforeFirst();
      const content = readFileSync(path);
      const sha256 = createHash('sha256').update(content).digest('hex');
      const file = { name, content, bytes: content.length, sha256, age: 0, file: name, folder: null };
      if (!files.has(name)) files.set(name, file);
    },
    read: ({ name }) => [files.get(name)!.content],
    remove: async (names) => {
      for (const name of names) files.delete(name);
    },
  };
  return only as SharedFiles;
}

it('makes its secret although another process of the machine looks for it meanwhile', async () => {
  const scratch = await folder();
  const shared = sharedFiles(() => createFileCache(shared, scratch).fetch('reuse/secret'));
  const store = createSharedAnswerStore(shared, createFileCache(shared, scratch));
  const sentColumns = ['name'];
  const lookup = await store.openLookup({
    fields: [0],
    delimiter: 44,
    sentColumns,
    segments: [],
    duplicates: 'send',
    skipsBlank: true,
  });
  await lookup.close();
  expect((await shared.find('reuse/secret'))?.bytes).toBe(32);
  expect(readdirSync(`${scratch}/reuse`)).toEqual(['secret']);
});

it('removes its secret if that is damaged, and no other', async () => {
  const scratch = await folder();
  const shared = sharedFiles(async () => undefined);
  const store = createSharedAnswerStore(shared, createFileCache(shared, scratch));
  await store.removeDamagedSecret();
  const path = `${scratch}/own`;
  writeFileSync(path, Buffer.alloc(32, 1));
  await shared.putFirst('reuse/secret', path);
  await store.removeDamagedSecret();
  expect((await shared.find('reuse/secret'))?.bytes).toBe(32);
  await shared.remove(['reuse/secret']);
  writeFileSync(path, 'x');
  await shared.putFirst('reuse/secret', path);
  await store.removeDamagedSecret();
  expect(await shared.find('reuse/secret')).toBeUndefined();
});
