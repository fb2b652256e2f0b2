/** The stores for deltas, on the disk and in memory, under the same contract. */
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createLocalDeltaStore } from '../../src/delta/local-delta-store.js';
import { useFolder } from '../helpers/folders/folders.js';
import { createMemoryDeltaStore } from '../helpers/memory/memory-delta-store.js';
import { describeDeltaStore } from './delta-store-contract.js';

const folder = useFolder();

describeDeltaStore('local disk', async () => createLocalDeltaStore(await folder()));
describeDeltaStore('memory', async () => createMemoryDeltaStore());

it('the files of the local store are private, and stay within its folder', async () => {
  const store = createLocalDeltaStore(await folder());
  await store.writeDigests('..', 'one', async (append) => append(Buffer.from('x')));
  const facts = { publication: 1, sha256: 'aa', key: [], columns: [], digests: 'one' };
  await store.recordLast('..', facts);
  expect(await readdir(await folder())).toEqual(['deltas']);
  const own = join(await folder(), 'deltas', '...d');
  expect((await stat(own)).mode & 0o777).toBe(0o700);
  for (const name of ['one', 'last.json']) expect((await stat(join(own, name))).mode & 0o777).toBe(0o600);
});

it('the local store removes older digests only once the newer ones are recorded', async () => {
  const store = createLocalDeltaStore(await folder());
  for (const name of ['one', 'two']) {
    await store.writeDigests('a', name, async (append) => append(Buffer.from(name)));
  }
  // Nothing can take the place of a folder.
  await mkdir(join(await folder(), 'deltas', 'a.d', 'last.json'));
  const facts = { publication: 2, sha256: 'bb', key: [], columns: [], digests: 'two' };
  await expect(store.recordLast('a', facts)).rejects.toThrow();
  const kept = await store.openDigests('a', 'one');
  expect(kept?.size).toBe(3);
  await kept?.close();
});

it.each(['', '{"publication":1}', '{"publication":1}\n5\n'])(
  'a last.json that holds %j is damaged',
  async (content) => {
    const store = createLocalDeltaStore(await folder());
    await store.recordLast('a', { publication: 1, sha256: 'aa', key: [], columns: [], digests: null });
    await writeFile(join(await folder(), 'deltas', 'a.d', 'last.json'), content);
    await expect(store.last('a')).rejects.toMatchObject({ code: 'DELTA_BASE_DAMAGED', exitCode: 2 });
  },
);
