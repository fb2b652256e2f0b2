/** What every output store keeps to: run over the local one, the one in S3 and the one in memory. */
import { createHash } from 'node:crypto';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OutputStore } from '../../src/files/output-store.js';
import { outputNames } from '../../src/run/check/check-output.js';
import { useFolder } from '../helpers/folders/folders.js';

/** @param bucket such as `s3://bucket`, where names are not paths. */
export function describeOutputStore(kind: string, create: () => OutputStore, bucket = ''): void {
  describe(`${kind}: an output store`, () => {
    const newFolder = useFolder();
    let folder: string;
    let store: OutputStore;
    let name: string;

    beforeEach(async () => {
      folder = await newFolder();
      await mkdir(join(folder, 'out'));
      name = `${bucket}${join(folder, 'out', 'enriched.csv')}`;
      store = create();
    });

    const put = async (content: string) => {
      const localFile = join(folder, 'out', 'enriched.csv.partial');
      await writeFile(localFile, content);
      return { localFile, stamp: await store.put(localFile, name, 0o640) };
    };
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

    it('has nothing under a name before something is put there', async () => {
      expect(await store.identity(name)).toBeUndefined();
      await store.remove(name);
    });

    it('knows what was put there by the stamp that it gave, and by content', async () => {
      const { localFile, stamp } = await put('one');
      const found = (await store.identity(name))!;
      expect([found.bytes, found.stamp, await found.sha256()]).toEqual([3, stamp, sha256('one')]);
      await expect(access(localFile)).rejects.toThrow('ENOENT');
    });

    it('replaces what stands there, and the stamp is another one', async () => {
      const { stamp } = await put('one');
      const { stamp: second } = await put('two');
      expect(second).not.toBe(stamp);
      expect(await (await store.identity(name))!.sha256()).toBe(sha256('two'));
    });

    it('reads what stands under a name, and refuses a name without content', async () => {
      const content = 'one,"two"\n'.repeat(100_000);
      await put(content);
      const pieces: Uint8Array[] = [];
      for await (const piece of store.stream(name)) pieces.push(piece);
      expect(Buffer.concat(pieces).toString() === content).toBe(true);
      await store.remove(name);
      const read = async () => {
        for await (const _ of store.stream(name));
      };
      await expect(read()).rejects.toThrow('ENOENT');
    });

    it('removes what stands under a name and nothing else', async () => {
      await put('one');
      await store.remove(`${name}._SUCCESS`);
      expect(await store.identity(name)).toBeDefined();
      await store.remove(name);
      expect(await store.identity(name)).toBeUndefined();
    });

    it('refuses a local file that is not there, and keeps what stands under the name', async () => {
      await put('one');
      await expect(store.put(join(folder, 'missing'), name, 0o640)).rejects.toThrow('ENOENT');
      expect(await (await store.identity(name))!.sha256()).toBe(sha256('one'));
    });

    it('passes the check of a name that is no source, and can be made ready twice', async () => {
      await writeFile(join(folder, 'source.csv'), 'name\n');
      const names = outputNames(name, join(folder, 'state'));
      await store.check(names, [join(folder, 'source.csv')]);
      await store.checkWritable(names);
      await store.prepare(names);
      await store.prepare(names);
    });

    it('reads the first bytes of what stands under a name, and nothing of a missing one', async () => {
      await put('one two');
      expect(Buffer.from((await store.read(name, 3))!).toString()).toBe('one');
      expect(Buffer.from((await store.read(name, 99))!).toString()).toBe('one two');
      expect(await store.read(`${name}.manifest.json`, 3)).toBeUndefined();
    });
  });
}
