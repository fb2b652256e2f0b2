/** The local output store makes each step durable before the next one begins. */
import { existsSync, readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLocalOutputStore } from '../../src/files/local-output-store.js';
import { syncFolder } from '../../src/streams/atomic-file.js';
import { withFolder } from '../helpers/folders/folders.js';

/** A store, and what each sync of a folder finds in it. */
function watchedStore() {
  const synced: { folder: string; hasMarker: boolean; output: string }[] = [];
  const store = createLocalOutputStore(async (folder) => {
    const output = readFileSync(join(folder, 'out.csv'), 'utf8');
    synced.push({ folder, hasMarker: existsSync(join(folder, 'out.csv._SUCCESS')), output });
    await syncFolder(folder);
  });
  return { store, synced };
}

describe('the local output store', () => {
  it('syncs the removal of an old marker before the new output takes the place of the old one', () =>
    withFolder(async (folder) => {
      const at = (name: string) => join(folder, name);
      await writeFile(at('out.csv'), 'old');
      await writeFile(at('out.csv._SUCCESS'), '{}');
      await writeFile(at('work'), 'new');
      const { store, synced } = watchedStore();
      await store.remove(at('out.csv._SUCCESS'));
      await store.put(at('work'), at('out.csv'), 0o640);
      expect(synced).toEqual([
        { folder, hasMarker: false, output: 'old' },
        { folder, hasMarker: false, output: 'new' },
      ]);
    }));

  it('removes a link without its target, and syncs nothing where there is nothing to remove', () =>
    withFolder(async (folder) => {
      const { store, synced } = watchedStore();
      await writeFile(join(folder, 'out.csv'), 'old');
      await store.remove(join(folder, 'none'));
      expect(synced).toEqual([]);
      await symlink(join(folder, 'nowhere'), join(folder, 'link'));
      await store.remove(join(folder, 'link'));
      expect(synced).toHaveLength(1);
    }));
});
