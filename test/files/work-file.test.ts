import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type KnownWork,
  openWorkFile,
  runOfWorkFile,
  workPathOf,
  writeAll,
} from '../../src/files/work-file.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

async function written(pieces: Uint8Array[], through = (file: FileHandle) => file): Promise<Buffer> {
  const path = join(await folder(), 'file');
  const file = await open(path, 'w');
  await writeAll(through(file), pieces);
  await file.close();
  return readFile(path);
}

/** A system that takes so many bytes of each call at most. */
function sparing(file: FileHandle, most: number): FileHandle {
  return {
    writev: async (pieces: Uint8Array[]) => {
      const bytes = Buffer.concat(pieces).subarray(0, most);
      await file.write(bytes);
      return { bytesWritten: bytes.length, buffers: pieces };
    },
  } as unknown as FileHandle;
}

describe('writeAll', () => {
  const pieces = [3, 0, 70_000, 1].map((size) => randomBytes(size));

  it('writes pieces one behind the other', async () => {
    expect((await written(pieces)).equals(Buffer.concat(pieces))).toBe(true);
    expect(await written([])).toHaveLength(0);
  });

  it.each([1, 2, 3, 40_000, 70_004])('gives the system no more than %i bytes at once', async (most) => {
    const path = join(await folder(), 'file');
    const file = await open(path, 'w');
    const calls: number[] = [];
    const watched = {
      writev: (given: Uint8Array[]) => {
        calls.push(given.reduce((sum, { length }) => sum + length, 0));
        return file.writev(given);
      },
    } as unknown as FileHandle;
    const few = pieces.map((piece) => piece.subarray(0, most * 20));
    await writeAll(watched, few, most);
    await file.close();
    expect((await readFile(path)).equals(Buffer.concat(few))).toBe(true);
    expect(Math.max(...calls)).toBe(Math.min(most, Buffer.concat(few).length));
  });

  it.each([1, 2, 3, 4, 69_999])('goes on where the system takes %i bytes at once', async (most) => {
    const few = pieces.map((piece) => piece.subarray(0, most * 20));
    const all = await written(few, (file) => sparing(file, most));
    expect(all.equals(Buffer.concat(few))).toBe(true);
  });
});

describe('a work file', () => {
  it('that is emptied begins anew, and its hash is known again', async () => {
    const path = join(await folder(), 'work');
    const known: KnownWork = { written: undefined };
    await writeFile(path, 'of another process');
    const work = await openWorkFile(path, known, async (size) => size);
    await work.append(Buffer.from(', longer'));
    expect(known.written).toBeUndefined();
    await work.empty();
    expect(work.length).toBe(0);
    await work.append(Buffer.from('a'), Buffer.from('new'));
    await work.close();
    expect(await readFile(path, 'utf8')).toBe('anew');
    const sha256 = createHash('sha256').update('anew').digest('hex');
    expect(known.written!.of(path)).toEqual({ bytes: 4, sha256 });
  });

  it('that is cut off is hashed piece by piece from there on', async () => {
    const path = join(await folder(), 'work');
    const known: KnownWork = { written: undefined };
    const whole = await openWorkFile(path, known, async () => 0);
    await whole.append(Buffer.from('one, two'));
    await whole.close();
    const cut = await openWorkFile(path, known, async () => 3);
    const sha256 = await cut.append(Buffer.from(', 2'));
    await cut.close();
    expect(await readFile(path, 'utf8')).toBe('one, 2');
    expect(sha256).toBe(createHash('sha256').update(', 2').digest('hex'));
    expect(known.written?.of(path)).toBeUndefined();
  });
});

describe('the path of a work file', () => {
  it('is beside a file, and in the state folder for an object', () => {
    expect(workPathOf('/out/enriched.csv', 'RUN', '/state')).toBe('/out/enriched.csv.RUN.partial');
    const [one, other] = ['a', 'b'].map((start) =>
      workPathOf(`s3://bucket/${start.repeat(300)}/enriched.csv`, 'RUN', '/state', true),
    );
    expect(one).toMatch(/^\/state\/outputs\/[0-9a-f]{16}-a+_enriched\.csv\.RUN\.deadline\.partial$/);
    expect(other).not.toBe(one);
    expect(one!.length).toBeLessThan(200);
  });

  it('names its run, and no file beside it does', () => {
    const run = '20261126T223809-4057da';
    for (const output of ['/out/enriched.csv', '/out/enriched/', 's3://bucket/enriched.csv']) {
      const runIn = (path: string) => runOfWorkFile(basename(path), output, '/state');
      expect(runIn(workPathOf(output, run, '/state'))).toBe(run);
      expect(runIn(workPathOf(output, run, '/state', true))).toBe(run);
      expect(runIn(workPathOf(`${output}.delta.csv`, run, '/state'))).toBeUndefined();
      expect(runIn(workPathOf(output, 'RUN', '/state'))).toBeUndefined();
      expect(runIn(output)).toBeUndefined();
    }
  });
});
