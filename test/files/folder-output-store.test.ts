/** Publications in folders on local disks: what a killed put leaves, and what a sweep removes. */
import { createHash } from 'node:crypto';
import fs, { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFolderOutputStore } from '../../src/files/folder-output-store.js';
import { withFolder } from '../helpers/folders/folders.js';

const RUN = '20261121T223000-4f9c1a';
const csv = 'name,note\n"a\n1",x\nb,y\nc,"""\n"\n';
const store = createFolderOutputStore();

async function textOf(name: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.stream(name)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function put(folder: string, number: number, pipeline = 'nightly', maxFileBytes: number | null = 20) {
  const work = join(folder, `work-${number}`);
  await writeFile(work, csv);
  const name = `${folder}/${RUN}-${number}/`;
  return { name, work, stamp: await store.put(work, name, 0o640, { pipeline, maxFileBytes }) };
}

describe('a folder of publications', () => {
  it('cuts a file into parts with headers, and reads them as one', () =>
    withFolder(async (folder) => {
      const { name, work, stamp } = await put(folder, 1);
      const parts = await readdir(`${name}data`);
      expect(parts).toEqual(['part-00000.csv', 'part-00001.csv', 'part-00002.csv']);
      expect(await readFile(`${name}data/part-00001.csv`, 'utf8')).toBe('name,note\nb,y\n');
      expect((await stat(`${name}data/part-00002.csv`)).mode & 0o777).toBe(0o640);
      expect(await textOf(name)).toBe(csv);
      const found = (await store.identity(name))!;
      expect([found.bytes, found.stamp]).toEqual([csv.length, stamp]);
      expect(existsSync(work)).toBe(false);
      // A part that was edited is another content, whatever its length.
      await writeFile(`${name}data/part-00001.csv`, 'name,note\nB,y\n');
      expect((await store.identity(name))!.stamp).not.toBe(stamp);
    }));

  it('cuts parts that are larger than what is read at once, or lie across its end, after records only', () =>
    withFolder(async (folder) => {
      const record = (at: number) => `${at},"${'x'.repeat(45)}\n"\n`;
      const large = `name,note\n${Array.from({ length: 30_000 }, (_, at) => record(at)).join('')}`;
      for (const [number, maxFileBytes] of [700_000, 100_000].entries()) {
        const work = join(folder, `work-${number}`);
        await writeFile(work, large);
        const name = `${folder}/${RUN}-${number}/`;
        await store.put(work, name, 0o640, { pipeline: 'nightly', maxFileBytes });
        const parts = await readdir(`${name}data`);
        expect(parts.length).toBe(Math.ceil(large.length / maxFileBytes));
        for (const part of parts) {
          const text = await readFile(`${name}data/${part}`, 'utf8');
          expect(text.length).toBeLessThanOrEqual(maxFileBytes);
          expect(text).toMatch(/^name,note\n(\d+,"x+\n"\n)+$/);
        }
        expect(await textOf(name)).toBe(large);
      }
    }));

  it('has no content while parts are missing, and puts it once more over what a kill has left', () =>
    withFolder(async (folder) => {
      const killed = createFolderOutputStore({
        at: () => {
          throw new Error('killed');
        },
      });
      const name = `${folder}/${RUN}-1/`;
      await writeFile(join(folder, 'work'), csv);
      const putting = killed.put(join(folder, 'work'), name, 0o640, {
        pipeline: 'nightly',
        maxFileBytes: 20,
      });
      await expect(putting).rejects.toThrow('killed');
      expect(await store.identity(name)).toBeUndefined();
      await expect(textOf(name)).rejects.toThrow('ENOENT');
      await put(folder, 1, 'nightly', null);
      expect(await readdir(`${name}data`)).toEqual(['part-00000.csv']);
      expect((await stat(`${name}data/part-00000.csv`)).mode & 0o777).toBe(0o640);
      expect(await textOf(name)).toBe(csv);
    }));

  it('makes the name of a part durable before its content is compared: a kill may have come first', () =>
    withFolder(async (folder) => {
      const { name } = await put(folder, 1, 'nightly', null);
      const found = (await store.identity(name))!;
      const synced: string[] = [];
      const { openSync } = fs;
      fs.openSync = (path, ...rest) => {
        synced.push(String(path));
        return openSync(path, ...rest);
      };
      syncBuiltinESMExports();
      try {
        expect(await found.sha256()).toBe(createHash('sha256').update(csv).digest('hex'));
      } finally {
        fs.openSync = openSync;
        syncBuiltinESMExports();
      }
      expect(synced).toContain(`${name}data/`);
    }));

  it('removes the publications of a pipeline, half ones too, and nothing of others', () =>
    withFolder(async (folder) => {
      for (const number of [1, 2, 3]) await put(folder, number);
      await put(folder, 4, 'other');
      await writeFile(`${folder}/${RUN}-2/notes.txt`, 'of somebody');
      await mkdir(`${folder}/${RUN}-5`);
      await mkdir(`${folder}/${RUN}-6/data`, { recursive: true });
      await mkdir(`${folder}/of-somebody`);
      await store.sweep(`${folder}/`, 'nightly', [`${RUN}-3/`]);
      const left = (await readdir(folder)).sort();
      expect(left).toEqual([...[2, 3, 4, 6].map((number) => `${RUN}-${number}`), 'of-somebody']);
      expect(await readdir(`${folder}/${RUN}-2`)).toEqual(['notes.txt']);
      expect(await textOf(`${folder}/${RUN}-3/`)).toBe(csv);
    }));
});
