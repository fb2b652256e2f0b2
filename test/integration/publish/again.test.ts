/** A done run whose output is not in place is published again from its stored parts. */
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  collect,
  createLocalOutputStore,
  type FoliopipeError,
  hintOf,
  openCheckpointReader,
  planRun,
  publish,
  retry,
  summarizeRun,
} from '../../../pipelines/index.js';
import { lockOutput } from '../../../src/checkpoint/sqlite/output-lock.js';
import { B, enrichB, expectPublication, listen, withDoneJob } from '../../helpers/jobs/done-job.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { readRaw } from '../../helpers/jobs/sample-source.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';

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
      const outputs = async (run: string) => {
        const reader = (await openCheckpointReader(job.config().stateDir))!;
        const { output } = await summarizeRun(
          { checkpoint: reader, output: createLocalOutputStore(), config: job.config() },
          run,
          'continued',
        ).finally(() => reader.close());
        return output;
      };
      expect(await outputs(first.run)).toMatchObject({ inPlace: true, heldBy: null });
      const other = { inPlace: false, heldBy: { publication: 3, run: first.run } };
      expect(await outputs(second)).toMatchObject(other);
      await utimes(job.outputPath, 1, 1);
      expect(await outputs(second)).toMatchObject(other);
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
    await withDoneJob(async (job, run) => {
      await remove(job);
      await job.service.close();
      const again = await job.enrich();
      expect(again).toMatchObject({ publication: 2, publishedAgain: `its ${what} was not there` });
      await expectSuccess(job, again, all);
      expect(await job.output()).toBe(await unbrokenOutput());
      await expectPublication(job.outputPath, run, 2);
    });
  });

  it('whose marker is missing gets it again, for the same publication', async () => {
    await withDoneJob(async (job, run) => {
      await rm(`${job.outputPath}._SUCCESS`);
      await writeFile(`${job.outputPath}._PARTIAL`, 'of another time');
      const other = await lockOutput(job.outputPath, { pid: 1, command: 'run', since: 0 });
      expect(await job.failure()).toMatchObject({ code: 'OUTPUT_LOCKED' });
      if (other.kind === 'held') await other.lock.close();
      const { said, logger } = listen();
      expect(await job.enrich({}, { logger })).toMatchObject({ publication: 1, publishedAgain: null });
      expect(said).toContain(`run ${run}: the marker of its output was missing and is written again`);
      await expectPublication(job.outputPath, run, 1);
      expect(await job.published()).not.toContain('enriched.csv._PARTIAL');
    });
  });

  it.each<[string, Changes, string[]]>([
    ['output.columns', { output: { columns: ['id', 'Business'] } }, ['id', 'Business']],
    ['output.prefix', { output: { prefix: 'p_' } }, ['p_status']],
    ['output.lineage', { output: { lineage: true } }, ['prediction_folio']],
    ['output.mode', { output: { mode: '0600' } }, []],
    ['output.delta, source.key', { source: { key: ['id'] }, output: { delta: true } }, []],
    [
      'result.columns',
      { result: { columns: ['confidence', 'naics_title', 'naics_code'] } },
      ['prediction_confidence', 'prediction_naics_title', 'prediction_naics_code'],
    ],
  ])('under another %s is published again, and back again', async (key, changes, columns) => {
    await withDoneJob(async (job, run) => {
      const again = await job.enrich(changes);
      const why = `the config has changed (${key})`;
      expect(again).toMatchObject({ run, found: 'done', publication: 2, publishedAgain: why });
      const header = (await job.output()).split('\n')[0]!.split(',');
      expect(header.filter((column) => columns.includes(column))).toEqual(columns);
      expect((await job.manifest()).columns).toEqual(header);
      expect(await job.enrich(changes)).toMatchObject({ publication: 2, publishedAgain: null });
    });
  });

  it('under another output.path is published there, and the first output stays', async () => {
    await withDoneJob(async (job, run) => {
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

  it('whose output was moved to the new output.path is published there', async () => {
    await withDoneJob(async (job) => {
      await rename(job.outputPath, path.join(job.folder, 'out/moved.csv'));
      const again = await job.enrich({ output: { path: 'out/moved.csv' } });
      expect(again).toMatchObject({ publication: 2, output: { inPlace: true } });
    });
  });

  it('whose output has a new file stamp is recognised by its content', async () => {
    await withDoneJob(async (job) => {
      await utimes(job.outputPath, 1, 1);
      expect(await job.enrich()).toMatchObject({ found: 'done', publication: 1, publishedAgain: null });
    });
  });

  it('stays done when chunk settings change', async () => {
    await withDoneJob(async (job) => {
      expect(await job.enrich({ chunks: { maxRecords: 7 } })).toMatchObject({
        found: 'done',
        publication: 1,
      });
    });
  });

  it('is written again by publish under other chunk settings and upload.duplicates, and not retried', async () => {
    await withDoneJob(async (job, run) => {
      const output = await readFile(job.outputPath);
      const others = job.config({ chunks: { maxRecords: 7 }, upload: { duplicates: 'once' } });
      await writeFile(job.outputPath, 'edited\n');
      await expect(job.enrich({ chunks: { maxRecords: 7 } })).rejects.toMatchObject({
        code: 'OUTPUT_CHANGED',
        hint: expect.stringContaining(`foliopipe publish ${run}`),
      });
      expect(await publish(others, run)).toMatchObject({ exitCode: 0, publication: 2 });
      expect(await readFile(job.outputPath)).toEqual(output);
      await expect(retry(others, run)).rejects.toMatchObject({ code: 'CONFIG_FROZEN' });
    });
  });

  it('is not written again by publish where other records are too large: the source would seem to have changed', async () => {
    await withDoneJob(async (job, run) => {
      const short = job.config({ chunks: { maxBytes: '1KB' } });
      await expect(publish(short, run)).rejects.toMatchObject({
        code: 'CONFIG_FROZEN',
        message: expect.stringContaining('chunks.maxBytes'),
      });
    });
  });

  it('is published again by collect if its source is unchanged', async () => {
    await withDoneJob(async (job, run) => {
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

  it('is shown by plan', async () => {
    await withDoneJob(async (job, run) => {
      const plan = async () => (await planRun(job.config(), { signal: new AbortController().signal })).next;
      expect(await plan()).toMatchObject({ kind: 'done', run, publishedAgain: null });
      await rm(job.outputPath);
      expect(await plan()).toMatchObject({ kind: 'done', run, publishedAgain: 'its output was not there' });
      const full = new Error('no bucket');
      const output = { ...createLocalOutputStore(), checkWritable: () => Promise.reject(full) };
      const { signal } = new AbortController();
      await expect(planRun(job.config(), { signal, output })).rejects.toBe(full);
      await writeFile(job.outputPath, 'edited');
      await expect(plan()).rejects.toMatchObject({ code: 'OUTPUT_CHANGED' });
    });
  });

  it('keeps its columns if others are declared by mistake', async () => {
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

describe('a publication made again that loses its work file', () => {
  it('is made once more, at the current output.path', async () => {
    await withDoneJob(async (job, run) => {
      const changes = { output: { path: 'out/other.csv' } };
      const at = throwAt('after-publishing-before-rename');
      await expect(job.enrich(changes, { at })).rejects.toThrow('killed');
      await rm(path.join(job.folder, `out/other.csv.${run}.partial`));
      expect(await job.failure(changes)).toMatchObject({ code: 'WORK_FILE_CHANGED', exitCode: 5 });
      const end = await job.enrich(changes);
      expect(end).toMatchObject({ run, state: 'done', publication: 3 });
      expect(await readFile(end.output!.path, 'utf8')).toBe(await unbrokenOutput());
    });
  });
});

describe('a done run with a damaged part', () => {
  it.each([
    ['gone', (file: string) => rm(file)],
    ['damaged', (file: string) => writeFile(file, 'not gzip')],
  ])('%s is published again, and only that part is fetched', async (_, harm) => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const output = await job.output();
      const folder = path.join(job.config().stateDir, 'runs', run);
      const part = (await readdir(folder)).find((name) => name.startsWith('part-000002-'))!;
      await harm(path.join(folder, part));
      await rm(job.outputPath);
      const asked = job.service.seen.length;
      expect(await job.enrich()).toMatchObject({ run, found: 'done', publication: 2 });
      expect(await job.output()).toBe(output);
      expect(job.service.seen.slice(asked).map(({ operation }) => operation)).toEqual(['download']);
    });
  });
});

describe('a done run with a damaged part that the service no longer has', () => {
  it('is not published in the place of its output, which has the answers, unless a person asks for it', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const output = await job.output();
      const folder = path.join(job.config().stateDir, 'runs', run);
      const part = (await readdir(folder)).find((name) => name.startsWith('part-000002-'))!;
      await writeFile(path.join(folder, part), 'not gzip');
      for (const folio of job.service.folios) folio.forgotten = true;
      const changes = { output: { lineage: true } };
      const error = await job.failure(changes);
      expect(error).toMatchObject({ code: 'ANSWERS_ONLY_IN_OUTPUT', exitCode: 6, facts: { chunk: 2 } });
      expect(hintOf(error as FoliopipeError)).toContain(`foliopipe publish ${run}`);
      expect(await job.output()).toBe(output);
      expect(await job.enrich()).toMatchObject({ run, publication: 1, publishedAgain: null, exitCode: 0 });
      expect(await publish(job.config(changes), run)).toMatchObject({
        exitCode: 3,
        counts: { unprocessed: 10 },
      });
    });
  });

  it('is published without its answers where the output is gone', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const folder = path.join(job.config().stateDir, 'runs', run);
      const part = (await readdir(folder)).find((name) => name.startsWith('part-000002-'))!;
      await writeFile(path.join(folder, part), 'not gzip');
      await rm(job.outputPath);
      for (const folio of job.service.folios) folio.forgotten = true;
      expect(await job.enrich()).toMatchObject({ run, exitCode: 3, counts: { unprocessed: 10 } });
    });
  });
});

describe('two outputs of one run', () => {
  it('keep their own bytes when published in turn', async () => {
    await withDoneJob(async (job) => {
      const first = await job.output();
      const narrow = { output: { path: 'out/narrow.csv', columns: ['id'] } };
      const { output } = await job.enrich(narrow);
      expect(readRaw(await readFile(output!.path, 'utf8'))).toHaveLength(60);
      expect(await job.enrich()).toMatchObject({ publication: 3, publishedAgain: expect.any(String) });
      expect(await job.output()).toBe(first);
    });
  });
});
