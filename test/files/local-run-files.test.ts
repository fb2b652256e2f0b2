import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createLocalFiles } from '../../src/files/local-run-files.js';
import { DamagedPartError } from '../../src/files/run-files.js';
import { readWhole } from '../../src/streams/read-pieces.js';
import type { PartReference } from '../../src/types.js';
import { contentOf } from '../fake-service/fake-api.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();
const reference: PartReference = { fileStatus: 'FAILED', part: 2 };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function open() {
  const files = await createLocalFiles(await folder()).ofRun('R1');
  const path = join(await folder(), 'runs', 'R1');
  return { files, path, chunk: join(path, 'chunk-000007.csv') };
}

describe('chunk files', () => {
  it('are private, replaced whole, and known by their content', async () => {
    const { files, path, chunk } = await open();
    await files.writeChunk(7, [Buffer.from('one')], sha256('one'));
    await files.writeChunk(7, [Buffer.from('two')], sha256('two'));
    expect(await readFile(chunk, 'utf8')).toBe('two');
    expect((await stat(chunk)).mode & 0o777).toBe(0o600);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(await files.hasChunk(7, sha256('two'))).toBe(true);
    expect(await files.hasChunk(7, sha256('one'))).toBe(false);
    expect(await files.hasChunk(8, sha256('two'))).toBe(false);
  });

  it('are not taken for whole when another has cut or removed them', async () => {
    const { files, chunk } = await open();
    await files.writeChunk(7, [Buffer.from('one')], sha256('one'));
    await truncate(chunk, 2);
    expect(await files.hasChunk(7, sha256('one'))).toBe(false);
    await rm(chunk);
    expect(await files.hasChunk(7, sha256('one'))).toBe(false);
  });

  it('of another process are held to their content', async () => {
    const { files, chunk } = await open();
    await writeFile(chunk, 'one');
    expect(await files.hasChunk(7, sha256('one'))).toBe(true);
    await writeFile(chunk, 'two');
    expect(await files.hasChunk(7, sha256('one'))).toBe(false);
  });

  it('may be removed twice', async () => {
    const { files, path } = await open();
    await files.writeChunk(7, [Buffer.from('one')], sha256('one'));
    await files.removeChunk(7);
    await files.removeChunk(7);
    expect(await readdir(path)).toEqual([]);
  });
});

describe('part files', () => {
  it('are compressed, private, and read back as they were written', async () => {
    const { files, path } = await open();
    const text = 'id,code\n1,é\n'.repeat(10_000);
    const written = await files.writePart(3, reference, contentOf(text.slice(0, 9), '', text.slice(9)));
    expect(written).toEqual({ bytes: Buffer.byteLength(text), sha256: sha256(text) });
    const [name] = await readdir(path);
    expect(gunzipSync(await readFile(join(path, name!))).toString()).toBe(text);
    expect((await stat(join(path, name!))).mode & 0o777).toBe(0o600);
    const stored = { ...reference, ...written, records: 1 };
    expect((await readWhole(files.readPart(3, stored))).equals(Buffer.from(text))).toBe(true);
    const later = await open();
    expect((await readWhole(later.files.readPart(3, stored))).equals(Buffer.from(text))).toBe(true);
  });

  it('of one part with two contents lie beside each other, and either may be removed', async () => {
    const { files, path } = await open();
    const write = async (text: string) => ({
      ...reference,
      ...(await files.writePart(3, reference, contentOf(text))),
      records: 1,
    });
    const older = await write('one');
    const newer = await write('two');
    expect(await readdir(path)).toHaveLength(2);
    // The same content once more is the same file.
    await write('two');
    expect(await readdir(path)).toHaveLength(2);
    expect((await readWhole(files.readPart(3, older))).toString()).toBe('one');
    await files.removePart(3, older);
    await files.removePart(3, older);
    await expect(readWhole(files.readPart(3, older))).rejects.toBeInstanceOf(DamagedPartError);
    expect((await readWhole(files.readPart(3, newer))).toString()).toBe('two');
  });

  it('from before version 0.1.0 are read under their old name, until the part is there under its own', async () => {
    const { files, path } = await open();
    const old = join(path, 'part-000003-failed-2.csv.gz');
    await writeFile(old, gzipSync('one'));
    const stored = { ...reference, bytes: 3, sha256: sha256('one'), records: 1 };
    expect((await readWhole(files.readPart(3, stored))).toString()).toBe('one');
    await writeFile(old, gzipSync('two'));
    await expect(readWhole(files.readPart(3, stored))).rejects.toBeInstanceOf(DamagedPartError);
    await files.writePart(3, reference, contentOf('one'));
    expect((await readWhole(files.readPart(3, stored))).toString()).toBe('one');
    await files.removePart(3, stored);
    await files.removePart(3, stored);
    expect(await readdir(path)).toEqual([]);
  });

  it('may be empty', async () => {
    const { files } = await open();
    const written = await files.writePart(3, reference, contentOf());
    expect(await readWhole(files.readPart(3, { ...reference, ...written, records: 0 }))).toHaveLength(0);
  });

  it('are read back though they came in one buffer, again and again, and were stored anew', async () => {
    const { files } = await open();
    const contents = ['one', 'two'].map((text) => Buffer.alloc(200_000, text));
    for (const content of contents) {
      const piece = Buffer.from(content);
      const given = async function* () {
        yield piece;
        piece.fill(0);
      };
      const stored = { ...reference, ...(await files.writePart(3, reference, given())), records: 1 };
      for (const _ of [1, 2]) expect((await readWhole(files.readPart(3, stored))).equals(content)).toBe(true);
    }
  });

  it('of all chunks, kinds and numbers are apart', async () => {
    const { files, path } = await open();
    for (const chunk of [1, 11])
      for (const fileStatus of ['SUCCESSFUL', 'FAILED'] as const)
        for (const part of [0, 1, 10]) await files.writePart(chunk, { fileStatus, part }, contentOf('x'));
    expect(await readdir(path)).toHaveLength(12);
  });

  it('are not there when their content is cut off', async () => {
    const { files, path } = await open();
    const cut = async function* () {
      yield Buffer.from('half');
      throw new Error('cut');
    };
    await expect(files.writePart(3, reference, cut())).rejects.toThrow('cut');
    expect(await readdir(path)).toEqual([]);
  });

  it.each<[string, (path: string) => Promise<void>]>([
    ['missing', (path) => rm(path)],
    ['cut off', (path) => truncate(path, 15)],
    ['rubbish', (path) => writeFile(path, 'rubbish')],
    ['another of the same length', (path) => writeFile(path, gzipSync('one, twO'))],
    ['longer', (path) => writeFile(path, gzipSync('one, two and more'))],
    ['enormous', (path) => writeFile(path, gzipSync(Buffer.alloc(50_000_000)))],
  ])('that are %s are found out', async (_, harm) => {
    const { files, path } = await open();
    const written = await files.writePart(3, reference, contentOf('one, two'));
    const [name] = await readdir(path);
    await harm(join(path, name!));
    const error = await readWhole(files.readPart(3, { ...reference, ...written, records: 1 })).catch(
      (thrown) => thrown,
    );
    expect(error).toBeInstanceOf(DamagedPartError);
    expect(error).toMatchObject({ chunk: 3, fileStatus: 'FAILED', part: 2 });
  });
});

it('a folder that cannot be read is an error, and no run without files: its results would stay for ever', async () => {
  const state = await folder();
  const runs = join(state, 'runs');
  await mkdir(runs);
  await symlink('R1', join(runs, 'R1'));
  const files = createLocalFiles(state);
  expect(await files.sizeOf('R2')).toBeUndefined();
  await files.remove('R2');
  await expect(files.sizeOf('R1')).rejects.toMatchObject({ code: 'ELOOP' });
  await expect(files.remove('R1')).rejects.toMatchObject({ code: 'ELOOP' });
  await rm(runs, { recursive: true });
  expect(await files.runs()).toEqual([]);
  await symlink('runs', runs);
  await expect(files.runs()).rejects.toMatchObject({ code: 'ELOOP' });
});
