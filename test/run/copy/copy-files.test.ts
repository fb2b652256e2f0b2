/** The files of a state on their way into another one: nothing damaged is taken along, and what is missing is named. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createFileCache } from '../../../src/files/file-cache.js';
import { createLocalFiles } from '../../../src/files/local-run-files.js';
import type { SharedFile, SharedFiles } from '../../../src/files/shared-files.js';
import { copyParts, fetchFiles, shareFiles } from '../../../src/run/copy/copy-files.js';
import { useNewFolders } from '../../helpers/folders/folders.js';
import { createMemoryFiles } from '../../helpers/memory/memory-files.js';
import { createStageRun, downloadAll, type StageRun } from '../../helpers/stages/stage-run.js';
import { wholeContent } from '../../helpers/streams/collect.js';

const newFolder = useNewFolders();
const { signal } = new AbortController();
const hashOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

/** A run of three chunks, whose parts are stored. */
async function downloaded(): Promise<StageRun> {
  const run = await createStageRun(await newFolder());
  await downloadAll(run);
  return run;
}

const partOf = async (run: StageRun, chunk: number) => (await run.checkpoint.parts(run.id, chunk))[0]!;

it('copies the parts of chunks in every state that may have some', async () => {
  const run = await downloaded();
  for (const chunk of [2, 3]) await run.checkpoint.recordUnprocessed(run.id, chunk, 'FOLIO_LOST');
  await run.checkpoint.recordFound(run.id, 3);
  const to = createLocalFiles(await newFolder());
  const copied = await copyParts(run.checkpoint, { from: run.fileStore, to, read: to }, signal);
  const parts = await Promise.all([1, 2, 3].map((chunk) => partOf(run, chunk)));
  const contents = await Promise.all(
    parts.map(async (part, at) => wholeContent((await to.ofRun(run.id)).readPart(at + 1, part))),
  );
  expect(contents.map(hashOf)).toEqual(parts.map(({ sha256 }) => sha256));
  const bytes = contents.reduce((sum, { length }) => sum + length, 0);
  expect(copied).toEqual({ files: 3, bytes, lost: [] });
});

it('names a part that is missing, and copies the others', async () => {
  const run = await downloaded();
  await run.files.removePart(2, await partOf(run, 2));
  const to = createMemoryFiles();
  const copied = await copyParts(run.checkpoint, { from: run.fileStore, to, read: to }, signal);
  expect(copied).toMatchObject({
    files: 2,
    lost: [`SUCCESSFUL part 0 of chunk 2 of run ${run.id}`],
  });
});

it('takes no copy for one that cannot be read where it was written', async () => {
  const run = await downloaded();
  const stores = { from: run.fileStore, to: createMemoryFiles(), read: createMemoryFiles() };
  await expect(copyParts(run.checkpoint, stores, signal)).rejects.toMatchObject({
    code: 'STATE_COPY_DIFFERS',
    exitCode: 5,
  });
  const stopped = AbortSignal.abort(new Error('SIGTERM'));
  await expect(copyParts(run.checkpoint, stores, stopped)).rejects.toThrow('SIGTERM');
});

it('makes each part durable, and takes other trouble than damage for none of a part', async () => {
  const run = await downloaded();
  const [to, done] = [createMemoryFiles(), [] as string[]];
  const ofRun = async (id: string) => {
    const files = await to.ofRun(id);
    return {
      ...files,
      writePart: (...args: Parameters<typeof files.writePart>) => {
        done.push('written');
        return files.writePart(...args);
      },
      syncParts: async () => void done.push('synced'),
    };
  };
  await copyParts(run.checkpoint, { from: run.fileStore, to: { ...to, ofRun }, read: to }, signal);
  expect(done).toEqual(['written', 'synced', 'written', 'synced', 'written', 'synced']);
  const busy = { ...run.fileStore, ofRun: () => Promise.reject(new Error('EMFILE')) };
  await expect(copyParts(run.checkpoint, { from: busy, to, read: to }, signal)).rejects.toThrow('EMFILE');
});

it('passes over the runs whose results were removed', async () => {
  const run = await downloaded();
  const rows = (await run.checkpoint.runs()).map((row) => ({ ...row, prunedAt: 1 }));
  const reader = { ...run.checkpoint, runs: async () => rows };
  const to = createMemoryFiles();
  const copied = await copyParts(reader, { from: run.fileStore, to, read: to }, signal);
  expect(copied).toEqual({ files: 0, bytes: 0, lost: [] });
});

/** What all machines see. @param change what the store makes of a content. */
function createShared(change = (content: Buffer): Buffer => content) {
  const stored = new Map<string, Buffer>();
  const fileOf = (name: string, content: Buffer): SharedFile => ({
    name,
    bytes: content.length,
    sha256: hashOf(content),
    age: 0,
    file: name,
    folder: null,
  });
  const shared = {
    find: async (name) => (stored.has(name) ? fileOf(name, stored.get(name)!) : undefined),
    list: async () => [...stored].map(([name, content]) => fileOf(name, content)),
    put: async (name, path) => {
      stored.set(name, await readFile(path));
      return fileOf(name, stored.get(name)!);
    },
    read: async function* ({ name }) {
      yield change(stored.get(name)!);
    },
  } as Pick<SharedFiles, 'find' | 'list' | 'put' | 'read'> as SharedFiles;
  return { shared, stored };
}

/** A reader of a state with one segment, and one run that has a choice. */
const reader = {
  runs: async () => [{ id: 'r1', pipeline: 'nightly', state: 'done', choice: {}, prunedAt: null }],
  segments: async () => [{ id: 's1' }],
} as unknown as Parameters<typeof shareFiles>[2];

async function stateWith(names: readonly string[]): Promise<string> {
  const stateDir = await newFolder();
  for (const name of names) {
    await mkdir(dirname(join(stateDir, name)), { recursive: true });
    await writeFile(join(stateDir, name), `the content of ${name}`);
  }
  return stateDir;
}

const ANSWERS = ['reuse/secret', 'reuse/segments/s1.seg', 'reuse/choices/r1.choice'];

it('copies answers, choices and digests, and names those that are not there', async () => {
  const digests = 'deltas/nightly.d/1.rows';
  const { shared, stored } = createShared();
  const all = await shareFiles(await stateWith([...ANSWERS, digests]), shared, reader, signal);
  expect(all).toMatchObject({ files: 4, lost: [] });
  expect([...stored.keys()].sort()).toEqual([...ANSWERS, digests].sort());
  expect(all.bytes).toBe([...stored.values()].reduce((sum, { length }) => sum + length, 0));
  const none = await shareFiles(await stateWith([digests]), createShared().shared, reader, signal);
  expect(none).toMatchObject({ files: 1, lost: ANSWERS });
  const some = await shareFiles(await stateWith(ANSWERS), createShared().shared, reader, signal, (name) =>
    name.endsWith('.choice'),
  );
  expect(some).toMatchObject({ files: 1, lost: ANSWERS.slice(0, 2) });
});

it('misses no choice of a run whose results were removed, and no secret where there are no answers', async () => {
  const [run] = await reader.runs();
  const pruned = { ...reader, runs: async () => [{ ...run!, prunedAt: 1 }], segments: async () => [] };
  const copied = await shareFiles(await newFolder(), createShared().shared, pruned, signal);
  expect(copied).toEqual({ files: 0, bytes: 0, lost: [] });
});

it('takes no stored answers for copied that the other state gives back otherwise', async () => {
  const { shared } = createShared(() => Buffer.from('rubbish'));
  const stateDir = await stateWith(ANSWERS);
  await expect(shareFiles(stateDir, shared, reader, signal)).rejects.toMatchObject({
    code: 'STATE_COPY_DIFFERS',
  });
  const stopped = AbortSignal.abort(new Error('SIGTERM'));
  await expect(shareFiles(stateDir, shared, reader, stopped)).rejects.toThrow('SIGTERM');
});

it('fetches them into a folder, without one that is damaged, and without a name that no state has', async () => {
  const { shared, stored } = createShared();
  for (const name of [...ANSWERS, '../outside', 'reuse/segments/..']) stored.set(name, Buffer.from(name));
  const stateDir = await newFolder();
  const cache = createFileCache(shared, stateDir);
  const copied = await fetchFiles(shared, cache, reader, signal);
  expect(copied).toEqual({ files: 3, bytes: ANSWERS.join('').length, lost: [] });
  for (const name of ANSWERS) expect(await readFile(join(stateDir, name), 'utf8')).toBe(name);
  expect(existsSync(join(stateDir, '../outside'))).toBe(false);

  const damaged = createShared((content) => (content.includes('.seg') ? Buffer.from('rubbish') : content));
  for (const name of ANSWERS) damaged.stored.set(name, Buffer.from(name));
  const folder = await newFolder();
  const rest = await fetchFiles(damaged.shared, createFileCache(damaged.shared, folder), reader, signal);
  expect(rest).toMatchObject({ files: 2, lost: ['reuse/segments/s1.seg'] });
  expect(existsSync(join(folder, 'reuse/segments/s1.seg'))).toBe(false);
});
