import { createHash, randomBytes } from 'node:crypto';
import { appendFile, copyFile, type FileHandle, open, rename, rm, truncate, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeAll } from '../../src/files/work-file.js';
import { createWrittenHash, type WrittenHash } from '../../src/streams/file-identity.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

interface Growing {
  readonly path: string;
  readonly file: FileHandle;
  readonly written: WrittenHash;
  append(...pieces: Uint8Array[]): Promise<string>;
}

async function withFile(use: (growing: Growing) => Promise<void>): Promise<void> {
  const path = join(await folder(), 'file');
  const file = await open(path, 'w+');
  const written = createWrittenHash(file);
  const append = (...pieces: Uint8Array[]) => written.append(file, pieces, () => writeAll(file, pieces));
  await use({ path, file, written, append }).finally(() => file.close());
}

/** Writes over the first byte; the time is set as well, for that of a system may stand still for milliseconds. */
async function overwrite(path: string): Promise<void> {
  const file: FileHandle = await open(path, 'r+');
  await file.write(Buffer.from('#'), 0, 1, 0);
  await file.close();
  await utimes(path, 1, 1);
}

describe('what was written', () => {
  it('has the hash of all its pieces', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.uint8Array({ maxLength: 9 }))), (appended) =>
        withFile(async ({ path, written, append }) => {
          let all = Buffer.alloc(0);
          let sha256 = createHash('sha256').digest('hex');
          for (const pieces of appended) {
            all = Buffer.concat([all, ...pieces]);
            sha256 = createHash('sha256').update(all).digest('hex');
            expect(await append(...pieces)).toBe(sha256);
          }
          expect(written.of(path)).toEqual({ bytes: all.length, sha256 });
        }),
      ),
      { numRuns: 50 },
    ));

  it('is known between two appends, and does not change after a sync', () =>
    withFile(async ({ path, file, written, append }) => {
      await append(randomBytes(100_000));
      const before = written.of(path);
      await file.datasync();
      expect(before).toBeDefined();
      expect(written.of(path)).toEqual(before);
      await append(Buffer.from('more'));
      expect(written.of(path)).toMatchObject({ bytes: 100_004 });
    }));

  it('continues over a file that was closed and opened again', () =>
    withFile(async ({ path, written, append }) => {
      await append(Buffer.from('one'));
      const file = await open(path, 'a+');
      const piece = Buffer.from(', two');
      await written.append(file, [piece], () => writeAll(file, [piece]));
      await file.close();
      const sha256 = createHash('sha256').update('one, two').digest('hex');
      expect(written.of(path)).toEqual({ bytes: 8, sha256 });
    }));

  const harms: Readonly<Record<string, (path: string) => Promise<void>>> = {
    'made longer': (path) => appendFile(path, 'x'),
    'cut off': (path) => truncate(path, 4),
    'written over': overwrite,
    'replaced by a copy': async (path) => {
      await copyFile(path, `${path}.copy`);
      await rename(`${path}.copy`, path);
    },
    removed: (path) => rm(path),
  };

  it.each(Object.entries(harms))('is not known of a file that was %s', (_, harm) =>
    withFile(async ({ path, written, append }) => {
      await append(Buffer.from('one, two'));
      await harm(path);
      expect(written.of(path)).toBeUndefined();
    }),
  );

  it.each(Object.entries(harms))('is not known later either of one that was %s', (_, harm) =>
    withFile(async ({ path, written, append }) => {
      await append(Buffer.from('one, two'));
      await harm(path);
      await append(Buffer.from(' and three'));
      await append(Buffer.from(' and four'));
      expect(written.of(path)).toBeUndefined();
    }),
  );

  it('is unknown after a write that failed or was short', () =>
    withFile(async ({ path, file, written }) => {
      const failing = written.append(file, [Buffer.from('one')], () => Promise.reject(new Error('full')));
      await expect(failing).rejects.toThrow('full');
      expect(written.of(path)).toBeUndefined();
    }));
});

it('a file that was not empty has no hash', async () => {
  const path = join(await folder(), 'file');
  await appendFile(path, 'old');
  const file = await open(path, 'a+');
  const written = createWrittenHash(file);
  const piece = Buffer.from('new');
  await written.append(file, [piece], () => writeAll(file, [piece]));
  await file.close();
  expect(written.of(path)).toBeUndefined();
});
