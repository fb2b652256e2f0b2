/** Compressed files beside a work file. zstd needs Node 22.15. */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  checkCompression,
  compressFile,
  encodedPathOf,
  encodeFile,
  readContent,
} from '../../src/files/encoded-file.js';
import { createLocalOutputStore } from '../../src/files/local-output-store.js';
import { hashFile } from '../../src/streams/file-identity.js';
import { readWhole } from '../../src/streams/read-pieces.js';
import { withFolder } from '../helpers/folders/folders.js';

const hasZstd = 'createZstdCompress' in zlib;
const formats = hasZstd ? (['csv.gz', 'csv.zst'] as const) : (['csv.gz'] as const);
const { signal } = new AbortController();
const rows = Buffer.from(Array.from({ length: 50_000 }, (_, at) => `${at},name ${at % 7},01001\n`).join(''));
const content = { bytes: rows.length, sha256: '' };

describe.each(formats)('%s', (format) => {
  it('holds the work file, is private, and is read back', () =>
    withFolder(async (folder) => {
      const work = join(folder, 'work');
      writeFileSync(work, rows);
      // What a killed process has left is replaced.
      writeFileSync(encodedPathOf(work), 'x'.repeat(rows.length));
      const made = await encodeFile(work, (_, file) => compressFile(work, file, format, signal));
      const path = encodedPathOf(work);
      expect(made).toEqual(await hashFile(path));
      expect(made.bytes).toBeLessThan(rows.length / 3);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const store = createLocalOutputStore();
      expect((await readWhole(readContent(store, { path, format, content }))).equals(rows)).toBe(true);
      for await (const piece of readContent(store, { path, format, content })) {
        expect(piece.length).toBeGreaterThan(0);
        break;
      }
    }));

  it('leaves nothing when it is stopped', () =>
    withFolder(async (folder) => {
      const work = join(folder, 'work');
      writeFileSync(work, rows);
      const stopped = AbortSignal.abort(new Error('stopped'));
      const making = encodeFile(work, (_, file) => compressFile(work, file, format, stopped));
      await expect(making).rejects.toThrow();
      expect(readdirSync(folder)).toEqual(['work']);
    }));

  it('that was cut short or changed is an error when it is read', () =>
    withFolder(async (folder) => {
      const work = join(folder, 'work');
      writeFileSync(work, rows);
      await encodeFile(work, (_, file) => compressFile(work, file, format, signal));
      const path = encodedPathOf(work);
      const bytes = await readFile(path);
      const changed = Buffer.from(bytes);
      changed[changed.length >> 1]! ^= 0xff;
      for (const wrong of [bytes.subarray(0, bytes.length >> 1), changed, Buffer.from('no archive')]) {
        writeFileSync(path, wrong);
        const reading = readWhole(readContent(createLocalOutputStore(), { path, format, content }));
        await expect(reading).rejects.toMatchObject({ code: 'OUTPUT_CHANGED', exitCode: 2 });
      }
    }));
});

it('a file that is missing is an error when it is read', async () => {
  const missing = { path: '/nowhere/rows.csv.gz', format: 'csv.gz', content } as const;
  const reading = readWhole(readContent(createLocalOutputStore(), missing));
  await expect(reading).rejects.toMatchObject({ code: 'ENOENT' });
});

it('zstd is refused on a Node without it, and nothing else is', () => {
  for (const format of ['csv', 'csv.gz', 'parquet'] as const)
    expect(() => checkCompression(format)).not.toThrow();
  if (hasZstd) expect(() => checkCompression('csv.zst')).not.toThrow();
  else expect(() => checkCompression('csv.zst')).toThrow('which this Node does not have');
});
