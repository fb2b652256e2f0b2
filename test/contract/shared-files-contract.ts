/** What every place for the files that all machines see keeps to. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { SharedFiles } from '../../src/files/shared-files.js';

interface Place {
  readonly shared: SharedFiles;
  /** The ids of all contents. */
  contents(): Promise<readonly string[]>;
  /** Leaves a content that nobody names, as a process that is killed does. */
  leaveContent(id: string): Promise<unknown>;
}

export function describeSharedFiles(
  kind: string,
  create: () => Promise<Place>,
  newFolder: () => Promise<string>,
): void {
  describe(`${kind}: shared files`, () => {
    let place: Place;
    let shared: SharedFiles;
    let path: string;
    beforeEach(async () => {
      place = await create();
      shared = place.shared;
      path = join(await newFolder(), 'local');
    });
    const put = async (name: string, content: string | Buffer) => {
      await writeFile(path, content);
      await shared.put(name, path);
    };
    const read = async (name: string) => {
      const file = await shared.find(name);
      if (file === undefined) return undefined;
      const pieces: Uint8Array[] = [];
      for await (const piece of shared.read(file)) pieces.push(Uint8Array.from(piece));
      return Buffer.concat(pieces);
    };

    it('gives back what was put, also if it is large or empty', async () => {
      for (const content of [
        Buffer.alloc(0),
        Buffer.from('x'),
        randomBytes(3_000_000),
        randomBytes(1 << 21),
      ]) {
        await put('a', content);
        expect((await read('a'))!.equals(content)).toBe(true);
        expect(await shared.find('a')).toMatchObject({ name: 'a', bytes: content.length });
      }
      expect(await read('b')).toBeUndefined();
    });

    it('replaces what has the name, unless the first one stays, and keeps no other content', async () => {
      await put('a', 'one');
      await put('a', 'two');
      expect(String(await read('a'))).toBe('two');
      await writeFile(path, 'three');
      await shared.putFirst('a', path);
      await shared.putFirst('b', path);
      expect([String(await read('a')), String(await read('b'))]).toEqual(['two', 'three']);
      expect(await place.contents()).toHaveLength(2);
    });

    it('lists names by their beginning, in order, and removes them', async () => {
      for (const name of ['x/b', 'x/a', 'x', 'y/a', 'x_/a', 'X/a']) await put(name, name);
      const names = async (beginning: string) => (await shared.list(beginning)).map(({ name }) => name);
      expect(await names('x/')).toEqual(['x/a', 'x/b']);
      await shared.remove(['x/a', 'none', 'y/a']);
      expect(await names('')).toEqual(['X/a', 'x', 'x/b', 'x_/a']);
      expect(await place.contents()).toHaveLength(4);
    });

    it('keeps the old file when a new one breaks off', async () => {
      await put('a', 'one');
      await expect(shared.put('a', `${path}-missing`)).rejects.toThrow('missing');
      expect(String(await read('a'))).toBe('one');
      expect(await place.contents()).toHaveLength(1);
    });

    it('removes contents that nobody names, and no others', async () => {
      await put('a', 'one');
      await place.leaveContent('left');
      await shared.removeUnnamed(60_000);
      expect(await place.contents()).toHaveLength(2);
      await shared.removeUnnamed(-60_000);
      expect(await place.contents()).toHaveLength(1);
      expect(String(await read('a'))).toBe('one');
      expect((await shared.find('a'))!.age).toBeLessThan(60_000);
    });
  });
}
