import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  checkCopies,
  copiesOf,
  copyPath,
  fillCopy,
  removeCopies,
  removeOldPlans,
  spoolFolder,
  withPlanFolder,
  writeCopy,
} from '../../src/spool/spool-folder.js';
import { useFolder } from '../helpers/folders/folders.js';

const newFolder = useFolder();
let stateDir: string;
let folder: string;
beforeEach(async () => {
  stateDir = await newFolder();
  folder = spoolFolder({ stateDir, state: null, pipeline: 'nightly' });
});

const spool = (signal = new AbortController().signal) => ({ folder, signal, at: () => undefined });
const pieces = async function* (...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
};
const source = (...hashes: string[]) =>
  ({ files: hashes.map((sha256) => ({ sha256, path: copyPath(folder, sha256) })) }) as never;

describe('a copy', () => {
  it('has the same name for the same content, however it is written', async () => {
    const path = await writeCopy(spool(), pieces('a,b\n', '1,2\n'));
    expect(await fillCopy(spool(), (to) => writeFile(to, 'a,b\n1,2\n'))).toBe(path);
    expect(await writeCopy(spool(), pieces('a,b\n1,3\n'))).not.toBe(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('appears whole or not at all', async () => {
    const broken = async function* () {
      yield Buffer.from('a,b\n');
      throw new Error('lost');
    };
    await expect(writeCopy(spool(), broken())).rejects.toThrow('lost');
    await expect(fillCopy(spool(), () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    const controller = new AbortController();
    const endless = async function* () {
      yield Buffer.from('a,b\n');
      controller.abort(new Error('stopped'));
      await new Promise(() => undefined);
    };
    await expect(writeCopy(spool(controller.signal), endless())).rejects.toThrow('stopped');
    expect(await readdir(folder)).toEqual([]);
  });

  it('is found by the content of a source, unless one of its files is gone or another', async () => {
    const path = await writeCopy(spool(), pieces('x'));
    const sha256 = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
    expect(copiesOf(source(sha256), folder)).toEqual([path]);
    expect(copiesOf(source(sha256, 'f'.repeat(64)), folder)).toBeUndefined();
    await checkCopies(source(sha256));
    const changed = { files: [{ sha256: 'f'.repeat(64), path }] } as never;
    await expect(checkCopies(changed)).rejects.toMatchObject({ code: 'SOURCE_COPY_DAMAGED', exitCode: 4 });
    expect(await readdir(folder)).toEqual([]);
  });
});

it('only copies are removed, whole ones and those that a kill has left', async () => {
  const kept = await writeCopy(spool(), pieces('x'));
  await writeCopy(spool(), pieces('y'));
  for (const name of ['new.csv.tmp', 'new.filled', 'parquet.json', 'notes.txt']) {
    await writeFile(join(folder, name), 'x');
  }
  await removeCopies(folder, new Set([kept]));
  expect((await readdir(folder)).map((name) => join(folder, name)).sort()).toEqual(
    [kept, join(folder, 'notes.txt'), join(folder, 'parquet.json')].sort(),
  );
  await removeCopies(join(stateDir, 'nothing'), new Set());
});

describe('a plan', () => {
  it('leaves no folder that it has made, and no other state', async () => {
    await rm(stateDir, { recursive: true });
    const copy = (to: string) => writeCopy({ ...spool(), folder: to }, pieces('x'));
    expect(await withPlanFolder(stateDir, copy)).toContain(join(stateDir, 'spool', 'plan-'));
    await expect(stat(stateDir)).rejects.toMatchObject({ code: 'ENOENT' });
    await writeCopy(spool(), pieces('y'));
    await withPlanFolder(stateDir, copy);
    expect(await readdir(join(stateDir, 'spool'))).toEqual(['nightly.d']);
  });

  it('that was killed is removed after a day', async () => {
    const left = await withPlanFolder(stateDir, async (plan) => plan);
    const file = await writeCopy({ ...spool(), folder: left }, pieces('x'));
    await removeOldPlans(join(stateDir, 'spool'), Date.now());
    expect((await stat(file)).size).toBe(1);
    const old = Date.now() / 1000 - 25 * 3600;
    await utimes(left, old, old);
    await removeOldPlans(join(stateDir, 'spool'), Date.now());
    expect(await readdir(join(stateDir, 'spool'))).toEqual([]);
  });

  it('is never taken for the copies of a pipeline whose name begins like its folder', async () => {
    const own = spoolFolder({ stateDir, state: null, pipeline: 'plan-0123456789ab' });
    const file = await writeCopy({ ...spool(), folder: own }, pieces('x'));
    const old = Date.now() / 1000 - 25 * 3600;
    await utimes(own, old, old);
    await removeOldPlans(join(stateDir, 'spool'), Date.now());
    expect((await stat(file)).size).toBe(1);
  });
});
