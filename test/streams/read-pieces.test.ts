import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PIECE_BYTES, readBeginning, readPieces } from '../../src/streams/read-pieces.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

async function fileOf(bytes: Buffer): Promise<string> {
  const path = join(await folder(), 'file');
  await writeFile(path, bytes);
  return path;
}

async function readAll(path: string, start?: number, known?: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of readPieces(path, start, known)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

describe('readPieces', () => {
  it('names the file in an error that comes while it is read', async () => {
    const path = await folder();
    await expect(readAll(path)).rejects.toMatchObject({ code: 'EISDIR', syscall: 'read', path });
  });

  it.each([0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES - 5])(
    'reads all of %i bytes',
    async (size) => {
      const bytes = randomBytes(size);
      expect((await readAll(await fileOf(bytes))).equals(bytes)).toBe(true);
    },
  );

  it('begins at the offset', async () => {
    const bytes = randomBytes(2 * PIECE_BYTES);
    const path = await fileOf(bytes);
    expect((await readAll(path, 70_001)).equals(bytes.subarray(70_001))).toBe(true);
    expect(await readAll(path, bytes.length)).toHaveLength(0);
  });

  it.each([0, 30, 100, 1000, 3 * PIECE_BYTES])(
    'reads what is there where %i bytes were seen before',
    async (known) => {
      const bytes = randomBytes(100);
      expect((await readAll(await fileOf(bytes), 20, known)).equals(bytes.subarray(20))).toBe(true);
    },
  );

  it.skipIf(process.platform === 'win32')(
    'does not wait for a pipe that has taken the place of a file',
    async () => {
      const path = join(await folder(), 'pipe');
      execFileSync('mkfifo', [path]);
      await expect(readAll(path, 0, 100)).rejects.toMatchObject({ code: 'ESPIPE', path });
    },
  );

  it('leaves a piece unchanged until the next one is requested', async () => {
    const bytes = randomBytes(4 * PIECE_BYTES);
    const path = await fileOf(bytes);
    let at = 0;
    for await (const piece of readPieces(path)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(piece.equals(bytes.subarray(at, at + piece.length))).toBe(true);
      at += piece.length;
    }
    expect(at).toBe(bytes.length);
  });

  it('reads what is appended meanwhile', async () => {
    const path = await fileOf(randomBytes(2 * PIECE_BYTES));
    let read = 0;
    for await (const piece of readPieces(path)) {
      if (read === 0) await appendFile(path, 'more');
      read += piece.length;
    }
    expect(read).toBe(2 * PIECE_BYTES + 4);
  });

  it('may be stopped at any time, also after a read has failed', async () => {
    const path = await fileOf(randomBytes(3 * PIECE_BYTES));
    for await (const piece of readPieces(path)) {
      expect(piece).toHaveLength(PIECE_BYTES);
      break;
    }
    await expect(readAll(await folder())).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(readAll(join(await folder(), 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

it('the beginning of a file is no longer than the file', async () => {
  const path = await fileOf(Buffer.from('abc'));
  const read = [1, 3, 5].map(async (bytes) => (await readBeginning(path, bytes)).toString());
  expect(await Promise.all(read)).toEqual(['a', 'abc', 'abc']);
  await expect(readBeginning(`${path}s`, 1)).rejects.toMatchObject({ code: 'ENOENT' });
});
