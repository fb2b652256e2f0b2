/** Parts without rows: names of both forms, several downloads, damage. */
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { findParts } from '../../../src/run/backup/find-parts.js';
import { withFolder } from '../../helpers/folders/folders.js';

/** A part of so many results, written at a time of its own; later ones are newer. */
let time = 1_000_000;
async function put(folder: string, name: string, results: number, answer = 'x'): Promise<string> {
  const path = join(folder, `part-${name}.csv.gz`);
  const row = (at: number) => `${at},"${answer}\n${at}"\n`;
  await writeFile(path, gzipSync(`id,code\n${Array.from({ length: results }, (_, at) => row(at)).join('')}`));
  time += 10;
  await utimes(path, time, time);
  return path;
}

const chunk = { number: 7, records: 12 };

describe('findParts', () => {
  it('counts and hashes what is there, whatever form its name has', () =>
    withFolder(async (folder) => {
      await put(folder, '000007-successful-0', 6);
      await put(folder, '000007-successful-1-0a1b2c3d', 4);
      await put(folder, '000007-failed-0-ffff0000', 2);
      await put(folder, '000008-successful-0', 3);
      const found = await findParts(folder, [chunk, { number: 8, records: 4 }, { number: 9, records: 1 }]);
      expect([...found.keys()]).toEqual([7]);
      const { counts, parts } = found.get(7)!;
      expect(counts).toEqual({ successful: 10, failed: 2 });
      expect(parts.map(({ fileStatus, part, records }) => [fileStatus, part, records]).sort()).toEqual([
        ['FAILED', 0, 2],
        ['SUCCESSFUL', 0, 6],
        ['SUCCESSFUL', 1, 4],
      ]);
      for (const { sha256, bytes } of parts) {
        expect(sha256).toMatch(/^[0-9a-f]{64}$/);
        expect(bytes).toBeGreaterThan(10);
      }
    }));

  it.each(['00', 'bb'])(
    'takes the newest set that adds up, and goes back where a newer download was cut off: -%s',
    (newer) =>
      withFolder(async (folder) => {
        await put(folder, '000007-successful-0-aa', 10, 'old');
        await put(folder, '000007-failed-0-aa', 2, 'old');
        const old = (await findParts(folder, [chunk])).get(7)!;
        await put(folder, `000007-successful-0-${newer}`, 11, 'new');
        expect((await findParts(folder, [chunk])).get(7)).toEqual(old);
        await put(folder, `000007-failed-0-${newer}`, 1, 'new');
        expect((await findParts(folder, [chunk])).get(7)!.counts).toEqual({ successful: 11, failed: 1 });
      }),
  );

  it('passes over a damaged file', () =>
    withFolder(async (folder) => {
      await put(folder, '000007-successful-0-aa', 12);
      const path = await put(folder, '000007-successful-0-bb', 12);
      await writeFile(path, gzipSync('id,code\n').subarray(0, 15));
      expect((await findParts(folder, [chunk])).get(7)!.counts).toEqual({ successful: 12, failed: 0 });
    }));
});
