/**
 * Outputs that are folders: each publication in a folder of its own, cut into files, and named last. Resumable at any
 * moment, read by loads and deltas as one file, and refused before anything is paid where it cannot be written.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { type Failpoint, printRunLoad, publish } from '../../../pipelines/index.js';
import { hashFile } from '../../../src/streams/file-identity.js';
import { queryDuckdb } from '../../helpers/duckdb/query-duckdb.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { type Changes, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { fineNames, sourceOf, withLocalJob } from '../../helpers/jobs/local-job.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { createMemoryOutputStore } from '../../helpers/memory/memory-output-store.js';
import { type Business, withLoadedJob } from '../../helpers/postgres/loaded-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, killCliAt } from '../../helpers/processes/cli.js';

const to = (more: Changes = {}): Changes => ({ output: { path: 'out/', maxFileBytes: '2KB', ...more } });

/** What `_LATEST.json` names. */
async function readLatest(job: Pick<Job, 'folder'>, output = 'out') {
  const folder = join(job.folder, output);
  const latest = JSON.parse(await readFile(join(folder, '_LATEST.json'), 'utf8'));
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  const texts: string[] = [];
  for (const { name, bytes, sha256 } of latest.parts) {
    expect(await hashFile(join(folder, name))).toEqual({ bytes, sha256 });
    texts.push(await read(name));
  }
  const header = `${texts[0]!.split('\n', 1)[0]}\n`;
  const content = texts.map((text, at) => (at === 0 ? text : text.slice(header.length))).join('');
  return { latest, texts, header, content, read };
}

/** Expects that the newest publication is whole, and which folders there are. */
async function expectPublished(job: Job, publication: number, folders: number): Promise<void> {
  const { latest, texts, header, content, read } = await readLatest(job);
  expect(content).toBe(await unbrokenOutput());
  expect(texts.length).toBeGreaterThan(2);
  for (const text of texts) {
    expect(text.startsWith(header)).toBe(true);
    expect(text.length).toBeLessThanOrEqual(2048);
  }
  expect(latest).toMatchObject({ publication, status: 'SUCCESS', pipeline: 'hostile' });
  expect(latest.folder).toBe(`${latest.run}-${publication}/`);
  expect(JSON.parse(await read(latest.manifest))).toMatchObject({
    publication,
    output: { path: join(job.folder, 'out', latest.data), records: 60, ...latest.output },
  });
  expect(JSON.parse(await read(latest.marker))).toMatchObject({ publication, run: latest.run });
  const found = await job.published();
  expect(found.filter((name) => name !== '_LATEST.json').length).toBe(folders);
  expect(found.filter((name) => /partial|tmp|lock/.test(name))).toEqual([]);
}

const killedAt = (point: Failpoint, nth?: number) => ({ at: throwAt(point, nth) });

describe('an output that is a folder', () => {
  it('holds each publication in parts, recognises it, and keeps as many as it should', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich(to());
      await expectPublished(job, 1, 1);
      const seen = job.service.seen.length;
      expect(await job.enrich(to())).toMatchObject({ found: 'done', publication: 1, publishedAgain: null });
      const { latest } = await readLatest(job);
      expect((await stat(join(job.folder, 'out', latest.parts[0].name))).mode & 0o777).toBe(0o640);

      expect(await publish(job.config(to()), run)).toMatchObject({ publication: 2 });
      await expectPublished(job, 2, 2);
      await mkdir(join(job.folder, 'out', '20200101T000000-abcdef-1'));
      await writeFile(join(job.folder, 'out', '20200101T000000-abcdef-1', 'of-somebody'), 'x');
      await publish(job.config(to()), run);
      await expectPublished(job, 3, 3);
      expect((await readLatest(job)).latest.earlier).toEqual([`${run}-2/`]);
      expect(existsSync(join(job.folder, 'out', `${run}-1`))).toBe(false);
      await publish(job.config(to({ keep: 1 })), run);
      await expectPublished(job, 4, 2);
      expect(job.service.seen.length).toBe(seen);
    });
  });

  it('is published again where a part or its name is lost, and left alone where it was edited', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich(to());
      const { latest } = await readLatest(job);
      const part = join(job.folder, 'out', latest.parts[1].name);
      await rm(part);
      expect(await job.enrich(to())).toMatchObject({ publishedAgain: 'its output was not there' });
      await expectPublished(job, 2, 2);
      await rm(join(job.folder, 'out', '_LATEST.json'));
      expect(await job.enrich(to())).toMatchObject({ publication: 3 });
      await expectPublished(job, 3, 2);
      const { latest: newest } = await readLatest(job);
      const edited = join(job.folder, 'out', newest.parts[0].name);
      await writeFile(edited, (await readFile(edited, 'utf8')).toUpperCase());
      expect(await job.failure(to())).toMatchObject({ code: 'OUTPUT_CHANGED', exitCode: 2 });
      const whole = await job
        .enrich({ output: { path: 'out/', maxFileBytes: null } })
        .catch((error) => error);
      expect(whole).toMatchObject({ code: 'OUTPUT_CHANGED' });
    });
  });

  it('is one file without a largest size, and another size publishes the run again', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich(to({ maxFileBytes: null }));
      const { texts } = await readLatest(job);
      expect(texts).toEqual([await unbrokenOutput()]);
      expect((await job.enrich(to())).publishedAgain).toContain('output.maxFileBytes');
      await expectPublished(job, 2, 2);
    });
  });

  const windows: readonly (readonly [Failpoint, number])[] = [
    ['after-publishing-before-rename', 1],
    ['after-part-of-folder-before-next', 2],
    ['after-parts-before-removal', 1],
    ['after-rename-before-manifest', 1],
    ['after-manifest-before-marker', 1],
    ['after-marker-before-latest', 1],
    ['after-latest-before-sweep', 1],
    ['after-marker-before-done', 1],
  ];
  it.concurrent.each(windows)('killed %s, is finished by the same command', async (point, nth) => {
    await withJob({ behaviour }, async (job) => {
      await expect(job.enrich(to(), killedAt(point, nth))).rejects.toThrow('killed');
      const isNamed = point === 'after-latest-before-sweep' || point === 'after-marker-before-done';
      expect(existsSync(join(job.folder, 'out', '_LATEST.json'))).toBe(isNamed);
      const seen = job.service.seen.length;
      expect(await job.enrich(to())).toMatchObject({ exitCode: 0, publication: 1 });
      expect(job.service.seen.length).toBe(seen);
      await expectPublished(job, 1, 1);
    });
  });

  it('names the last publication until the next one is whole, and sweeps what was left unfinished', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich(to());
      const again = publish(job.config(to()), run, killedAt('after-part-of-folder-before-next', 2));
      await expect(again).rejects.toThrow('killed');
      await expectPublishedBut(job, 1);
      for (const name of await readdir(join(job.folder, 'out'))) {
        if (name.endsWith('.partial')) await writeFile(join(job.folder, 'out', name), 'damaged');
      }
      expect(await job.failure(to())).toMatchObject({ code: 'WORK_FILE_CHANGED' });
      expect(await job.enrich(to())).toMatchObject({ exitCode: 0, publication: 3 });
      await expectPublished(job, 3, 2);
      expect(existsSync(join(job.folder, 'out', `${run}-2`))).toBe(false);
    });
  });

  it('is refused before anything is sent where it cannot be written', async () => {
    await withJob({ behaviour }, async (job) => {
      await writeFile(join(job.folder, 'file'), 'x');
      expect(await job.failure(to({ path: 'file/' }))).toMatchObject({ code: 'FOLDER_UNWRITABLE' });
      await mkdir(join(job.folder, 'out'), { recursive: true });
      await writeFile(join(job.folder, 'out', '_LATEST.json'), '{"of": "somebody"}');
      expect(await job.failure(to())).toMatchObject({ code: 'OUTPUT_FOREIGN', exitCode: 2 });
      await rm(join(job.folder, 'out', '_LATEST.json'));
      const inMemory = { output: createMemoryOutputStore() };
      expect(await job.failure(to(), inMemory)).toMatchObject({ code: 'OUTPUT_IS_FOLDER', exitCode: 2 });
      expect(job.service.seen).toEqual([]);
      await job.enrich(to());
      const seen = job.service.seen.length;
      const other = await job.failure({ ...to(), pipeline: 'other' });
      expect(other).toMatchObject({ code: 'OUTPUT_OF_OTHER_PIPELINE', exitCode: 2 });
      expect(job.service.seen.length).toBe(seen);
    });
  });
});

/** Expects that `_LATEST.json` still names this publication, and that it is whole. */
async function expectPublishedBut(job: Job, publication: number): Promise<void> {
  const { latest, content } = await readLatest(job);
  expect(latest.publication).toBe(publication);
  expect(content).toBe(await unbrokenOutput());
}

const businesses: readonly Business[] = Array.from({ length: 30 }, (_, at) => ({
  id: `0${1000 + at}`,
  Business: at % 3 === 0 ? `"Best", of\r\n\\. ${at}` : `Müller & Söhne ${at}`,
}));

it('is loaded as one file, and the delta night loads and writes what has changed', async () => {
  await withFolder(async (folder) => {
    const url = `duckdb:${join(folder, 'loaded.duckdb')}`;
    const query = (text: string) => queryDuckdb(url.slice('duckdb:'.length), text);
    const server = { createDatabase: async () => ({ url, place: url, query }) };
    const output = { path: 'out/', maxFileBytes: '1KB', delta: true };
    await withLoadedJob(server, { mode: 'merge', onRemoved: 'delete' }, async (job) => {
      const nights = [
        [businesses, { base: null, written: 30, removed: 0 }],
        [[...businesses.slice(1), { id: 'N1', Business: 'New' }], { base: 1, written: 1, removed: 1 }],
        [businesses, { base: 2, written: 1, removed: 1 }],
      ] as const;
      let run = '';
      for (const [night, load] of nights) {
        await job.write(night);
        const done = await job.enrich({ output });
        run = done.run;
        expect(done.load).toMatchObject({ state: 'loaded', ...load });
        const { latest, content, read, texts } = await readLatest(job);
        expect(texts.length).toBeGreaterThan(2);
        expect(parse(content, { columns: true })).toHaveLength(night.length);
        expect(await read(`${latest.folder}delta.csv`)).toContain(',added\n');
        expect((await job.table()).map(({ id }) => id)).toEqual(night.map(({ id }) => id).sort());
        expect(done.delta!.path).toBe(join(job.folder, 'out', latest.folder, 'delta.csv'));
      }
      // What is printed for a person reads the same files.
      const printed = await printRunLoad(job.config({ output }), run, 'duckdb');
      const before = await job.table();
      await query('delete from businesses; delete from foliopipe_loads');
      await query(printed);
      expect(await job.table()).toEqual(before);
    });
  });
});

it('is published partly at a deadline, then as a whole, each in a folder of its own', async () => {
  const slow = {
    ...behaviour,
    finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 2 ? Infinity : 1),
  };
  await withJob({ behaviour: slow }, async (job) => {
    const partly = await job.enrich(to(), deadlineAt({ 'after-downloaded-before-merge': 5 }));
    expect(partly).toMatchObject({ state: 'open', exitCode: 8, publication: 1 });
    const { latest, content } = await readLatest(job);
    expect(latest).toMatchObject({
      status: 'PARTIAL',
      exitCode: 8,
      complete: false,
      marker: `${latest.folder}_PARTIAL`,
    });
    expect(latest.counts).toEqual(partly.counts);
    expect(content.split('\n').filter((row) => row.includes(',DEADLINE,'))).toHaveLength(10);
    job.service.behaviour = behaviour;
    expect(await job.enrich(to())).toMatchObject({ exitCode: 0, publication: 2 });
    await expectPublished(job, 2, 2);
  });
});

describe('a folder for each day', () => {
  const names = fineNames(40);
  const config = {
    output: { path: 'out/{date}/', maxFileBytes: '1KB' },
    budget: { timeZone: 'UTC' },
    source: { path: 'source.csv', maxRejected: 1 },
  };
  it.each(['after-part-of-folder-before-next:2', 'after-marker-before-latest', 'after-latest-before-sweep'])(
    'killed %s by the system, is finished by the same command and shown by status',
    async (armed) => {
      await withLocalJob({ names, config }, async (job) => {
        await writeFile(job.source, `${sourceOf(names)}broken,"record\n`);
        await killCliAt(armed, ['run', job.file]);
        const finished = await callMain(['run', job.file]);
        expect(finished.code, finished.stderr).toBe(0);
        const [day] = await readdir(join(job.folder, 'out'));
        const { latest, texts, read } = await readLatest(job, join('out', day!));
        expect(latest).toMatchObject({ publication: 1, counts: { read: 41, rejected: 1 } });
        expect(texts.length).toBeGreaterThan(2);
        expect(await read(`${latest.folder}rejects.csv`)).toContain('SOURCE_QUOTE_NOT_CLOSED');
        expect(finished.stderr + finished.stdout).toContain(join(latest.folder, 'data/'));
        expect(finished.stderr + finished.stdout).toContain(join(latest.folder, 'rejects.csv'));
        const status = await callMain(['status', job.file, '--json']);
        expect(jsonLines(status.stdout).at(-1)).toMatchObject({ output: { inPlace: true } });
        expect(await job.served()).toHaveLength(4);
      });
    },
  );
});
