/** Outputs that are not published again: over a file of others, with other values, or without the stored results. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, planRun, prune, publish } from '../../../pipelines/index.js';
import { B, expectPublication, listen, withDoneJob } from '../../helpers/jobs/done-job.js';
import { expectEnriched, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';

describe('an output that foliopipe did not write', () => {
  const refused = {
    exitCode: 2,
    code: 'OUTPUT_CHANGED',
    hint: expect.stringMatching(/keep what is there under another name.*foliopipe publish/),
  };

  it('is not replaced; the error names a way out, which works', async () => {
    await withDoneJob(async (job) => {
      const text = await job.output();
      // Same length: the size alone would not show the difference.
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

  it('is not replaced at a new output.path, either', async () => {
    await withDoneJob(async (job) => {
      const other = path.join(job.folder, 'out/other.csv');
      await writeFile(other, 'a report of somebody');
      expect(await job.failure({ output: { path: 'out/other.csv' } })).toMatchObject({
        ...refused,
        // `foliopipe publish` would refuse it too.
        hint: 'keep what is there under another name and type the same command again',
        message: expect.stringContaining('is not a file that this pipeline has published'),
      });
      expect(await readFile(other, 'utf8')).toBe('a report of somebody');
    });
  });

  it('may belong to another pipeline: it is refused by every command before anything is paid', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const asked = job.service.seen.length;
      const others = {
        code: 'OUTPUT_OF_OTHER_PIPELINE',
        exitCode: 2,
        message: expect.stringContaining('was published by the pipeline hostile'),
        hint: expect.stringMatching(/another output\.path.*move it away together with .*manifest\.json/),
      };
      const other = { pipeline: 'other', stateDir: 'other-state' };
      expect(await job.failure(other)).toMatchObject(others);
      const signal = new AbortController().signal;
      await expect(planRun(job.config(other), { signal })).rejects.toMatchObject(others);
      expect(job.service.seen.length).toBe(asked);
      for (const end of ['', '.manifest.json']) {
        await rename(`${job.outputPath}${end}`, path.join(job.folder, `kept${end}`));
      }
      const second = await job.enrich(other);
      expect(second).toMatchObject({ found: 'new', exitCode: 0 });
      const back = { ...others, message: expect.stringContaining('was published by the pipeline other') };
      expect(await job.failure()).toMatchObject(back);
      await expect(publish(job.config(), run)).rejects.toMatchObject(back);
      await expectPublication(job.outputPath, second.run, 1);
    });
  });

  it('is not paid for twice because its pipeline has got another name while its run is unfinished', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      const sent = job.service.folios.length;
      const renamed = { pipeline: 'renamed' };
      const refused = { code: 'OUTPUT_RUN_UNFINISHED', exitCode: 9, facts: { pipeline: 'hostile' } };
      expect(await job.failure(renamed)).toMatchObject(refused);
      const signal = new AbortController().signal;
      await expect(planRun(job.config(renamed), { signal })).rejects.toMatchObject(refused);
      expect(job.service.folios.length).toBe(sent);
      expect(await job.enrich({ ...renamed, output: { path: 'out/b.csv' } })).toMatchObject({ found: 'new' });
      expect(await job.enrich()).toMatchObject({ found: 'continued', state: 'done' });
    });
  });

  it('is replaced by a new run, which publishes over it', async () => {
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
    ['upload.skipBlank', { upload: { skipBlank: false } }],
  ])('is not done under another %s: the key is named, and what pays again', async (key, changes) => {
    await withDoneJob(async (job, run) => {
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

  it('is done by the newest run that has the current values', async () => {
    await withJob({ behaviour }, async (job) => {
      const keyless = { upload: { keyColumn: null } };
      const first = await job.enrich();
      const second = await job.enrich(keyless, { fresh: true });
      expect(second.run).not.toBe(first.run);
      const asked = job.service.seen.length;
      // The bytes are the same, but the marker names the other run.
      expect(await job.enrich()).toMatchObject({ run: first.run, found: 'done', publication: 3 });
      expect(await job.enrich(keyless)).toMatchObject({ run: second.run, found: 'done', publication: 4 });
      await expectPublication(job.outputPath, second.run, 4);
      expect(job.service.seen.length).toBe(asked);
    });
  });
});

describe('a done run whose results were removed', () => {
  it('is done if its output and its marker are in place', async () => {
    await withDoneJob(async (job, run) => {
      await prune(job.config(), { olderThan: -1 });
      await rm(`${job.outputPath}._SUCCESS`);
      expect(await job.enrich()).toMatchObject({ run, found: 'done', publication: 1, publishedAgain: null });
      await expectPublication(job.outputPath, run, 1);
      await rm(`${job.outputPath}.manifest.json`);
      const { said, logger } = listen();
      expect(await job.enrich({}, { logger })).toMatchObject({ run, exitCode: 0 });
      expect(said).toContainEqual(expect.stringContaining('the manifest of its output is missing'));
    });
  });

  it('whose output somebody has edited is replaced by the command that the error names', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await prune(job.config(), { olderThan: -1 });
      await writeFile(job.outputPath, 'edited\n');
      expect(await job.failure()).toMatchObject({
        code: 'OUTPUT_CHANGED',
        hint: expect.stringMatching(/^(?!.*foliopipe publish).*foliopipe run --new replaces it/),
      });
      expect(await job.enrich({}, { fresh: true })).toMatchObject({ exitCode: 0, publication: 2 });
    });
  });

  it.each([
    ['its output was not there', (job: Job) => rm(job.outputPath), {}],
    ['the config has changed', async () => {}, { output: { prefix: 'p_' } }],
  ])('cannot be published again if %s: exit 9', async (why, change, changes) => {
    await withDoneJob(async (job, run) => {
      await prune(job.config(), { olderThan: -1 });
      await change(job);
      const day = new Date().toISOString().slice(0, 10);
      const refused = {
        exitCode: 9,
        code: 'RUN_PRUNED',
        message: expect.stringContaining(
          `the results of run ${run} were removed on ${day} (retention.results, or runs prune), and ${why}`,
        ),
        hint: expect.stringMatching(/--new .*no stored answer/),
      };
      expect(await job.failure(changes)).toMatchObject(refused);
      await expect(collect(job.config(changes))).rejects.toMatchObject(refused);
    });
  });
});
