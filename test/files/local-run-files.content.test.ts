import { randomBytes } from 'node:crypto';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contentOnDisk } from '../../src/files/local-run-files.js';
import { useFolder } from '../helpers/folders/folders.js';
import { wholeContent } from '../helpers/streams/collect.js';

const folder = useFolder();

async function onDisk(bytes: Buffer) {
  const path = join(await folder(), 'chunk.csv');
  await writeFile(path, bytes);
  return { path, content: contentOnDisk(path) };
}

describe('a file on the disk', () => {
  it.each([0, 1, 64 * 1024, 256 * 1024, 700_001])(
    'of %i bytes is given whole, as often as it is asked for',
    async (size) => {
      const bytes = randomBytes(size);
      const { content } = await onDisk(bytes);
      expect(content.bytes).toBe(size);
      expect((await wholeContent(content.open())).equals(bytes)).toBe(true);
      expect((await wholeContent(content.open())).equals(bytes)).toBe(true);
    },
  );

  it('is never given longer than it was, and fails where it has become shorter', async () => {
    const bytes = randomBytes(600_000);
    const { path, content } = await onDisk(bytes);
    await appendFile(path, 'more');
    expect((await wholeContent(content.open())).equals(bytes)).toBe(true);
    await truncate(path, 500_000);
    await expect(wholeContent(content.open())).rejects.toMatchObject({
      code: 'CHUNK_FILE_SHORT',
      exitCode: 5,
      facts: { path, bytes: 600_000, found: 500_000 },
    });
  });

  it('that is not there fails at once', async () => {
    const path = join(await folder(), 'none.csv');
    expect(() => contentOnDisk(path)).toThrow('ENOENT');
  });
});
