import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gzipPieces, unzipped, writeGzipped } from '../../src/files/write-gzipped.js';
import { giveBack } from '../../src/streams/large-buffers.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

async function write(name: string, content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const path = join(await folder(), name);
  const file = openSync(path, 'wx');
  try {
    await writeGzipped(file, content, () => undefined);
  } finally {
    closeSync(file);
  }
  return gunzipSync(await readFile(path));
}

/** Gives everything in one buffer, which holds something else once the next piece is asked for. */
async function* inOneBuffer(content: Buffer, pieceBytes: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.alloc(pieceBytes);
  for (let at = 0; at < content.length; at += pieceBytes) {
    yield buffer.subarray(0, content.copy(buffer, 0, at, at + pieceBytes));
    buffer.fill(0);
  }
}

async function* cutOff(): AsyncGenerator<Buffer> {
  yield randomBytes(3000);
  throw new Error('cut');
}

it.each([
  ['nothing', Buffer.alloc(0), 10],
  ['pieces of a byte', Buffer.from('id,code\n1,é\n'), 1],
  ['what compresses well', Buffer.alloc(9_000_000, 'id,code\n1,é\n'), 1 << 20],
  ['what does not compress', randomBytes(5_000_000), 700_000],
])('what was written is read back: %s', async (_, content, pieceBytes) => {
  expect((await write('a.gz', inOneBuffer(content, pieceBytes))).equals(content)).toBe(true);
});

it('a file is whole whatever became of those before it and beside it', async () => {
  await expect(write('cut.gz', cutOff())).rejects.toThrow('cut');
  const contents = ['one', 'another one', 'x'.repeat(100_000), ''].map((text) => Buffer.from(text));
  for (const round of [1, 2]) {
    const names = contents.map((_, index) => `${round}-${index}.gz`);
    const read = await Promise.all(
      names.map((name, index) => write(name, inOneBuffer(contents[index]!, 4096))),
    );
    expect(read).toEqual(contents);
  }
});

it('pieces without a byte are passed over', async () => {
  const file = openSync(join(await folder(), 'a.gz'), 'wx');
  const pieces = async function* () {
    for (const text of ['', 'a', '', 'b', '']) yield Buffer.from(text);
  };
  await writeGzipped(file, pieces(), () => undefined);
  closeSync(file);
  expect(gunzipSync(await readFile(join(await folder(), 'a.gz'))).toString()).toBe('ab');
});

it('each piece is shown once, in order', async () => {
  const file = openSync(join(await folder(), 'a.gz'), 'wx');
  const seen: string[] = [];
  await writeGzipped(file, inOneBuffer(Buffer.from('abcdefg'), 3), (piece) => {
    seen.push(Buffer.from(piece).toString());
  });
  closeSync(file);
  expect(seen).toEqual(['abc', 'def', 'g']);
});

it('a file that takes nothing ends it with the error of the system', async () => {
  const file = openSync('/dev/full', 'w');
  try {
    const content = inOneBuffer(randomBytes(2_000_000), 500_000);
    await expect(writeGzipped(file, content, () => undefined)).rejects.toMatchObject({ code: 'ENOSPC' });
  } finally {
    closeSync(file);
  }
});

describe('a file of members', () => {
  /** Sizes on either side of what is decompressed at once. */
  const contents = [0, 3, 5_000, 200_000, 5_000_000].map((size) => randomBytes(size));

  it('is read whole, without harm to other buffers', async () => {
    const other = Buffer.from('beside what Node shares');
    for (const content of contents) {
      const half = content.length >> 1;
      const members = [content.subarray(0, half), content.subarray(half)].map((part) => gzipSync(part));
      const read = await unzipped(Buffer.concat(members), content.length);
      expect(read.equals(content)).toBe(true);
      giveBack(read);
    }
    expect(other.toString()).toBe('beside what Node shares');
  });

  it('is refused if it is longer, shorter or cut', async () => {
    for (const content of contents.slice(1)) {
      const file = gzipSync(content);
      await expect(unzipped(file, content.length - 1)).rejects.toThrow();
      await expect(unzipped(file, content.length + 1)).rejects.toThrow();
      await expect(unzipped(file.subarray(0, -9), content.length)).rejects.toThrow();
    }
  });
});

describe('a small piece', () => {
  const stored = async (content: Uint8Array): Promise<Buffer> => {
    const pieces: Buffer[] = [];
    const one = async function* () {
      yield content;
    };
    await gzipPieces(
      one(),
      () => undefined,
      async (piece) => void pieces.push(piece),
    );
    return Buffer.concat(pieces);
  };

  it('is stored as it is, for any program for gzip, and read back', async () => {
    const content = fc.uint8Array({ maxLength: 16 * 1024, size: 'max' });
    await fc.assert(
      fc.asyncProperty(content, async (bytes) => {
        const file = await stored(bytes);
        expect(file.length).toBe(bytes.length + 23);
        expect(gunzipSync(file).equals(bytes)).toBe(true);
        expect((await unzipped(file, bytes.length)).equals(bytes)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('is refused if it is longer, shorter or cut, and read if it is not alone', async () => {
    const file = await stored(Buffer.from('1,x\n'));
    await expect(unzipped(file, 3)).rejects.toThrow();
    await expect(unzipped(file, 5)).rejects.toThrow();
    await expect(unzipped(file.subarray(0, -1), 4)).rejects.toThrow();
    await expect(unzipped(file.subarray(0, 5), 4)).rejects.toThrow();
    await expect(unzipped(Buffer.alloc(0), 4)).rejects.toThrow();
    expect((await unzipped(Buffer.concat([file, file]), 8)).toString()).toBe('1,x\n1,x\n');
  });
});
