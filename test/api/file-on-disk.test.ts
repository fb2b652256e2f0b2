import { File } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FormData, Request } from 'undici';
import { describe, expect, it } from 'vitest';
import { fileOnDisk } from '../../src/api/file-on-disk.js';
import { useFolder } from '../helpers/folder.js';

const folder = useFolder();

async function diskFile(bytes: Buffer) {
  const path = join(await folder(), 'chunk.csv');
  await writeFile(path, bytes);
  return { path, file: await fileOnDisk(path, 'näme "1".csv', 'text/csv') };
}

async function streamed(file: { stream(): AsyncIterable<Uint8Array> }): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.stream()) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a file on the disk', () => {
  it.each([0, 1, 1024 * 1024, 2_500_000])(
    'of %i bytes is given whole, as often as it is asked for',
    async (size) => {
      const bytes = randomBytes(size);
      const { file } = await diskFile(bytes);
      expect(file).toMatchObject({ name: 'näme "1".csv', size, type: 'text/csv' });
      expect((await streamed(file)).equals(bytes)).toBe(true);
      expect((await streamed(file)).equals(bytes)).toBe(true);
    },
  );

  it('makes the same form as a file in memory', async () => {
    const bytes = randomBytes(100_000);
    const { file } = await diskFile(bytes);
    const sent = async (each: File) => {
      const form = new FormData();
      form.append('token', 't');
      form.append('file', each);
      const request = new Request('http://localhost', { method: 'POST', body: form });
      const boundary = /boundary=(.*)$/.exec(request.headers.get('content-type')!)![1]!;
      return Buffer.from(await request.arrayBuffer())
        .toString('latin1')
        .replaceAll(boundary, 'BOUNDARY');
    };
    const inMemory = new File([bytes], 'näme "1".csv', { type: 'text/csv' });
    expect(await sent(file)).toBe(await sent(inMemory));
  });

  it('is never given longer than it was, and shorter only where it is', async () => {
    const bytes = randomBytes(1_500_000);
    const { path, file } = await diskFile(bytes);
    await appendFile(path, 'more');
    expect((await streamed(file)).equals(bytes)).toBe(true);
    await truncate(path, 1_200_000);
    expect((await streamed(file)).equals(bytes.subarray(0, 1_200_000))).toBe(true);
  });

  it('that is missing is said to be so at once', async () => {
    const path = join(await folder(), 'none');
    await expect(fileOnDisk(path, 'a', 'text/csv')).rejects.toMatchObject({ code: 'ENOENT', path });
  });
});
