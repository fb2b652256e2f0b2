/** A done run whose output is not in place is published again from what was bought; what others have made stays. */
import { copyFile, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, type Logger, planRun, prune } from '../../pipelines/index.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  type Job,
  withJob,
} from '../helpers/other-service-job.js';
import { all, behaviour, unbrokenOutput } from '../helpers/other-service-resume.js';
import { readRaw, sourceText } from '../helpers/other-service-source.js';

const A = sourceText(60);
const B = sourceText(30);

/** Runs `use` on a job whose source A is done; the service is not asked again. */
async function done(use: (job: Job, run: string) => Promise<void>): Promise<void> {
  await withJob({ behaviour }, async (job) => {
    const { run } = await job.enrich();
    const seen = job.service.seen.length;
    await use(job, run);
    expect(job.service.seen.length).toBe(seen);
  });
}

/** Another source is done in between, and the first one put back; the id of that run. */
async function enrichB(job: Job): Promise<string> {
  await writeFile(job.sourcePath, B);
  const { run } = await job.enrich();
  await writeFile(job.sourcePath, A);
  return run;
}

/** What is told beside an output. */
async function besides(output: string) {
  const [manifest, marker] = await Promise.all(
    ['manifest.json', '_SUCCESS'].map(async (end) => JSON.parse(await readFile(`${output}.${end}`, 'utf8'))),
  );
  return { manifest, marker };
}

async function expectPublication(output: string, run: string, publication: number): Promise<void> {
  const { manifest, marker } = await besides(output);
  expect(manifest).toMatchObject({ run, publication });
  expect(marker).toMatchObject({ run, publication });
}

function listen() {
  const said: string[] = [];
  const keep = (_: object, message: string) => void said.push(message);
  const logger: Logger = { debug: () => {}, info: keep, warn: keep, error: keep };
  return { said, logger };
}

describe('a done run', () => {
  it('whose output was replaced by that of another source is published again', async () => {
    await withJob({ behaviour }, async (job) => {
      const first = await job.enrich();
      expect(first).toMatchObject({ publication: 1, publishedAgain: null });
      const second = await enrichB(job);
      await expectPublication(job.outputPath, second, 2);
      const asked = job.service.seen.length;
      const { said, logger } = listen();
      const again = await job.enrich({}, { logger });
      const why = `publication 2 (run ${second}) stood in its place`;
      expect(again).toMatchObject({ run: first.run, found: 'done', publication: 3, publishedAgain: why });
      expect(said).toContain(`run ${first.run} is done, and is published again from what was bought: ${why}`);
      expect(job.service.seen.length).toBe(asked);
      await expectSuccess(job, again, all);
      await expectEnriched(job);
      expect(await job.output()).toBe(await unbrokenOutput());
      await expectPublication(job.outputPath, first.run, 3);
      expect(await job.enrich()).toMatchObject({ publication: 3, publishedAgain: null });
      await writeFile(job.sourcePath, B);
      expect(await job.enrich()).toMatchObject({ run: second, found: 'done', publication: 4 });
      expect(job.service.seen.length).toBe(asked);
    });
  });

  it('whose source has the same content under another name is published again', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      await enrichB(job);
      await rename(job.sourcePath, path.join(job.folder, 'other.csv'));
      const again = await job.enrich({ source: { path: 'other.csv' } });
      expect(again).toMatchObject({ run, found: 'done', publication: 3 });
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });

  it.each([
    ['output', (job: Job) => rm(path.dirname(job.outputPath), { recursive: true })],
    ['manifest', (job: Job) => rm(`${job.outputPath}.manifest.json`)],
  ])('whose %s is missing is published again', async (what, remove) => {
    await done(async (job, run) => {
      await remove(job);
      await job.service.close();
      const again = await job.enrich();
      expect(again).toMatchObject({ publication: 2, publishedAgain: `its ${what} was not there` });
      await expectSuccess(job, again, all);
      expect(await job.output()).toBe(await unbrokenOutput());
      await expectPublication(job.outputPath, run, 2);
    });
  });

  it('whose marker is missing has it again; it is the same publication', async () => {
    await done(async (job, run) => {
      await rm(`${job.outputPath}._SUCCESS`);
      await writeFile(`${job.outputPath}._PARTIAL`, 'of another time');
      const { said, logger } = listen();
      expect(await job.enrich({}, { logger })).toMatchObject({ publication: 1, publishedAgain: null });
      expect(said).toEqual([`run ${run}: the marker of its output was missing: it is written again`]);
      await expectPublication(job.outputPath, run, 1);
      expect(await job.published()).not.toContain('enriched.csv._PARTIAL');
    });
  });

  it.each<[string, Changes, string[]]>([
    ['output.columns', { output: { columns: ['id', 'Business'] } }, ['id', 'Business']],
    ['output.prefix', { output: { prefix: 'p_' } }, ['p_status']],
    ['output.lineage', { output: { lineage: true } }, ['prediction_folio']],
    ['output.mode', { output: { mode: '0600' } }, []],
    [
      'result.columns',
      { result: { columns: ['confidence', 'naics_title', 'naics_code'] } },
      ['prediction_confidence', 'prediction_naics_title', 'prediction_naics_code'],
    ],
  ])('under another %s is published again, and back again', async (key, changes, columns) => {
    await done(async (job, run) => {
      const again = await job.enrich(changes);
      const why = `the config says otherwise now (${key})`;
      expect(again).toMatchObject({ run, found: 'done', publication: 2, publishedAgain: why });
      const header = (await job.output()).split('\n')[0]!.split(',');
      expect(header.filter((column) => columns.includes(column))).toEqual(columns);
      expect((await job.manifest()).columns).toEqual(header);
      expect(await job.enrich(changes)).toMatchObject({ publication: 2, publishedAgain: null });
    });
  });

  it('under another output.path is published there, and the first output stays', async () => {
    await done(async (job, run) => {
      const changes = { output: { path: 'out/other.csv' } };
      const again = await job.enrich(changes);
      expect(again).toMatchObject({
        publication: 2,
        output: { path: path.join(job.folder, 'out/other.csv') },
      });
      expect(await readFile(again.output!.path, 'utf8')).toBe(await unbrokenOutput());
      await expectPublication(again.output!.path, run, 2);
      await expectPublication(job.outputPath, run, 1);
      expect(await job.enrich(changes)).toMatchObject({ publication: 2, publishedAgain: null });
    });
  });

  it('whose output was moved to where the config has it now is published there', async () => {
    await done(async (job) => {
      await rename(job.outputPath, path.join(job.folder, 'out/moved.csv'));
      const again = await job.enrich({ output: { path: 'out/moved.csv' } });
      expect(again).toMatchObject({ publication: 2, output: { inPlace: true } });
    });
  });

  it('in its place is known by its content where its stamp is another', async () => {
    await done(async (job) => {
      await utimes(job.outputPath, 1, 1);
      expect(await job.enrich()).toMatchObject({ found: 'done', publication: 1, publishedAgain: null });
    });
  });

  it('is done whatever the chunks are today', async () => {
    await done(async (job) => {
      expect(await job.enrich({ chunks: { maxRecords: 7 } })).toMatchObject({
        found: 'done',
        publication: 1,
      });
    });
  });

  it('is published again by collect, as long as its source is there', async () => {
    await done(async (job, run) => {
      await rm(job.outputPath);
      expect(await collect(job.config())).toMatchObject({ run, found: 'done', publication: 2 });
      await writeFile(job.sourcePath, B);
      expect(await collect(job.config())).toMatchObject({ run, publication: 2, publishedAgain: null });
      await rm(job.outputPath);
      await expect(collect(job.config())).rejects.toMatchObject({
        exitCode: 4,
        code: 'SOURCE_CHANGED',
        message: expect.stringContaining(`run ${run} is done, and its source is no longer the same`),
      });
    });
  });

  it('is told by plan as what a run would do', async () => {
    await done(async (job, run) => {
      const plan = async () => (await planRun(job.config(), { signal: new AbortController().signal })).next;
      expect(await plan()).toMatchObject({ kind: 'done', run, publishedAgain: null });
      await rm(job.outputPath);
      expect(await plan()).toMatchObject({ kind: 'done', run, publishedAgain: 'its output was not there' });
      await writeFile(job.outputPath, 'edited');
      await expect(plan()).rejects.toMatchObject({ code: 'OUTPUT_CHANGED' });
    });
  });

  it('keeps its columns where others were declared by mistake', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      await enrichB(job);
      expect(await job.failure({ result: { columns: ['code'] } })).toMatchObject({
        exitCode: 6,
        code: 'COLUMNS_CHANGED',
      });
      expect(await job.enrich()).toMatchObject({ run, found: 'done', publication: 3 });
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });
});

describe('a publication made again whose work file is lost on the way', () => {
  it('is made once more, where the config has the output now', async () => {
    await done(async (job, run) => {
      const changes = { output: { path: 'out/other.csv' } };
      const at = (point: string) => {
        if (point === 'after-publishing-before-rename') throw new Error('killed');
      };
      await expect(job.enrich(changes, { at })).rejects.toThrow('killed');
      await rm(path.join(job.folder, `out/other.csv.${run}.partial`));
      expect(await job.failure(changes)).toMatchObject({ code: 'WORK_FILE_CHANGED', exitCode: 5 });
      const end = await job.enrich(changes);
      expect(end).toMatchObject({ run, state: 'done', publication: 3 });
      expect(await readFile(end.output!.path, 'utf8')).toBe(await unbrokenOutput());
    });
  });
});

describe('an output that somebody else has made', () => {
  const refused = {
    exitCode: 2,
    code: 'OUTPUT_CHANGED',
    hint: expect.stringMatching(/keep what is there under another name.*foliopipe publish/),
  };

  it('is not replaced, and the way out is named and works', async () => {
    await done(async (job) => {
      const text = await job.output();
      // Of the same length: its size alone would not tell.
      const edited = text.replace('SUCCESSFUL', 'successful');
      await writeFile(job.outputPath, edited);
      expect(await job.failure()).toMatchObject(refused);
      await expect(collect(job.config())).rejects.toMatchObject(refused);
      expect(await job.output()).toBe(edited);
      await rename(job.outputPath, `${job.outputPath}.kept`);
      expect(await job.enrich()).toMatchObject({ publication: 2 });
      expect(await job.output()).toBe(text);
    });
  });

  it('is not replaced where the config has the output now', async () => {
    await done(async (job) => {
      const other = path.join(job.folder, 'out/other.csv');
      await writeFile(other, 'a report of somebody');
      expect(await job.failure({ output: { path: 'out/other.csv' } })).toMatchObject({
        ...refused,
        message: expect.stringContaining('is not a file that this pipeline has published'),
      });
      expect(await readFile(other, 'utf8')).toBe('a report of somebody');
    });
  });

  it('is that of another pipeline too', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await job.enrich({ pipeline: 'other', output: { path: 'out/other.csv' } });
      await copyFile(path.join(job.folder, 'out/other.csv'), job.outputPath);
      await writeFile(job.outputPath, `${await job.output()}\n`);
      expect(await job.failure()).toMatchObject(refused);
    });
  });

  it('is replaced by what is sent now: a new run publishes over it', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await writeFile(job.outputPath, 'edited');
      await writeFile(job.sourcePath, B);
      expect(await job.enrich()).toMatchObject({ found: 'new', publication: 2 });
      await expectEnriched(job);
    });
  });
});

describe('a source that was done with other values', () => {
  it.each([
    ['upload.columns', { upload: { columns: { name: 'Address', address: 'Business', state: 'State' } } }],
    ['upload.keyColumn', { upload: { keyColumn: null } }],
    ['source.onBadRecord', { source: { path: 'source.csv', onBadRecord: 'reject' } }],
  ])('is not done under another %s: the key is named, and what pays again', async (key, changes) => {
    await done(async (job, run) => {
      const failure = await job.failure(changes);
      expect(failure).toMatchObject({
        exitCode: 2,
        code: 'RUN_DONE_OTHERWISE',
        message: expect.stringMatching(new RegExp(`run ${run} .*\n {2}${key}: .* when it began, .* now`)),
        hint: expect.stringContaining('--new'),
        facts: { run, keys: key },
      });
      await expect(
        planRun(job.config(changes), { signal: new AbortController().signal }),
      ).rejects.toMatchObject({ code: 'RUN_DONE_OTHERWISE' });
    });
  });

  it('is done by the newest run that has the values of today', async () => {
    await withJob({ behaviour }, async (job) => {
      const keyless = { upload: { keyColumn: null } };
      const first = await job.enrich();
      const second = await job.enrich(keyless, { fresh: true });
      expect(second.run).not.toBe(first.run);
      const asked = job.service.seen.length;
      // The bytes are the same, but the marker beside them tells of the other run.
      expect(await job.enrich()).toMatchObject({ run: first.run, found: 'done', publication: 3 });
      expect(await job.enrich(keyless)).toMatchObject({ run: second.run, found: 'done', publication: 4 });
      await expectPublication(job.outputPath, second.run, 4);
      expect(job.service.seen.length).toBe(asked);
    });
  });
});

describe('a done run whose results were removed', () => {
  it('is done where its output is in place, with its marker', async () => {
    await done(async (job, run) => {
      await prune(job.config(), { olderThan: -1 });
      await rm(`${job.outputPath}._SUCCESS`);
      expect(await job.enrich()).toMatchObject({ run, found: 'done', publication: 1, publishedAgain: null });
      await expectPublication(job.outputPath, run, 1);
      await rm(`${job.outputPath}.manifest.json`);
      const { said, logger } = listen();
      expect(await job.enrich({}, { logger })).toMatchObject({ run, exitCode: 0 });
      expect(said).toEqual([expect.stringContaining('the manifest of its output is missing')]);
    });
  });

  it.each([
    ['its output was not there', (job: Job) => rm(job.outputPath), {}],
    ['the config says otherwise now', async () => {}, { output: { prefix: 'p_' } }],
  ])('says so and ends with exit 9 where %s', async (why, change, changes) => {
    await done(async (job, run) => {
      await prune(job.config(), { olderThan: -1 });
      await change(job);
      const day = new Date().toISOString().slice(0, 10);
      const refused = {
        exitCode: 9,
        code: 'RUN_PRUNED',
        message: expect.stringContaining(
          `the results of run ${run} were removed on ${day} (retention.results), and ${why}`,
        ),
        hint: expect.stringMatching(/--new .*pays again/),
      };
      expect(await job.failure(changes)).toMatchObject(refused);
      await expect(collect(job.config(changes))).rejects.toMatchObject(refused);
    });
  });
});

describe('two outputs of one run', () => {
  it('keep the bytes of both, whatever is asked for in turn', async () => {
    await done(async (job) => {
      const first = await job.output();
      const narrow = { output: { path: 'out/narrow.csv', columns: ['id'] } };
      const { output } = await job.enrich(narrow);
      expect(readRaw(await readFile(output!.path, 'utf8'))).toHaveLength(60);
      expect(await job.enrich()).toMatchObject({ publication: 3, publishedAgain: expect.any(String) });
      expect(await job.output()).toBe(first);
    });
  });
});
