import { randomBytes } from 'node:crypto';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileOnDisk } from '../../src/api/requests.js';
import { useFolder } from '../helpers/folder.js';

const folder = useFolder();

async function diskFile(bytes: Buffer) {
  const path = join(await folder(), 'chunk.csv');
  await writeFile(path, bytes);
  return { path, file: fileOnDisk(path, 'näme "1".csv', 'text/csv') };
}

async function streamed(file: ReturnType<typeof fileOnDisk>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.stream() as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a file on the disk', () => {
  it.each([0, 1, 64 * 1024, 256 * 1024, 700_001])(
    'of %i bytes is given whole, as often as it is asked for',
    async (size) => {
      const bytes = randomBytes(size);
      const { file } = await diskFile(bytes);
      expect(file).toMatchObject({ name: 'näme "1".csv', size, type: 'text/csv' });
      expect((await streamed(file)).equals(bytes)).toBe(true);
      expect((await streamed(file)).equals(bytes)).toBe(true);
    },
  );

  it('is never given longer than it was, and fails where it has become shorter', async () => {
    const bytes = randomBytes(600_000);
    const { path, file } = await diskFile(bytes);
    await appendFile(path, 'more');
    expect((await streamed(file)).equals(bytes)).toBe(true);
    await truncate(path, 500_000);
    await expect(streamed(file)).rejects.toThrow('shorter');
  });

  it('that is not there fails at once', async () => {
    const path = join(await folder(), 'none.csv');
    expect(() => fileOnDisk(path, 'none.csv', 'text/csv')).toThrow('ENOENT');
  });
});
