/** What must not change while a run is unfinished, what starts a new run, and publishing without the service. */
import { readdir, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, publish, SourceError } from '../../../pipelines/index.js';
import { expectSuccess, withJob } from '../../helpers/jobs/fake-service-job.js';
import {
  all,
  behaviour,
  expectResumed,
  interrupt,
  stopAt,
  unbrokenOutput,
} from '../../helpers/jobs/interrupted-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';

describe('a run', () => {
  it('refuses a changed source, with both ways out', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      const folios = job.service.folios.length;
      await writeFile(job.sourcePath, sourceText(59));
      const error = await job.failure();
      expect(error).toBeInstanceOf(SourceError);
      expect(error).toMatchObject({ code: 'SOURCE_CHANGED', exitCode: 4 });
      expect((error as SourceError).hint).toMatch(/put the old file back.*--new/);
      expect(job.service.folios.length).toBe(folios);
      await writeFile(job.sourcePath, sourceText(60));
      await expectResumed(job);
    });
  });

  it.each([
    ['chunks.maxRecords', { chunks: { maxRecords: 20 } }],
    ['upload.keyColumn', { upload: { keyColumn: null } }],
    ['output.prefix', { output: { prefix: 'p_' } }],
  ])('refuses another %s while the run is open', async (key, changes) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      const error = await job.failure(changes);
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toMatchObject({ code: 'CONFIG_FROZEN', exitCode: 2, facts: { keys: key } });
      expect((error as ConfigError).hint).toContain('--new');
    });
  });

  it('starts again with --new, and the old run is never continued', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 6));
      const uploads = job.service.count('upload');
      const fresh = await job.enrich({}, { fresh: true, yes: true });
      expect(fresh).toMatchObject({ found: 'new', exitCode: 0 });
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(job.service.count('upload')).toBe(uploads + 6);
      expect(await job.enrich()).toMatchObject({ found: 'done', run: fresh.run });
    });
  });

  it('says that a finished run is done, and sends nothing', async () => {
    await withJob({ behaviour }, async (job) => {
      const first = await job.enrich();
      const sent = job.service.seen.length;
      const thisProcess = expect.objectContaining({ bytes: { downloaded: 0, uploaded: 0 } });
      expect(await job.enrich()).toEqual({ ...first, found: 'done', thisProcess });
      expect(job.service.seen.length).toBe(sent);
    });
  });
});

describe('publish', () => {
  it('writes the same bytes again without the service', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      await rm(path.dirname(job.outputPath), { recursive: true });
      await job.service.close();
      const summary = await publish(job.config(), run);
      await expectSuccess(job, summary, all);
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });

  it('fetches a damaged part again, and says so where the service is out', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const folder = path.join(job.config().stateDir, 'runs', run);
      const part = (await readdir(folder)).sort().at(-1)!;
      await truncate(path.join(folder, part), 20);
      const sent = job.service.count('upload');
      const healthy = job.service.behaviour;
      job.service.behaviour = { ...healthy, trouble: () => ({ kind: 'answer', status: 503 }) };
      const impatient = job.config({ retry: { giveUpAfter: '50ms' } });
      await expect(publish(impatient, run)).rejects.toMatchObject({ exitCode: 5 });
      // The run stays done, and the old output stays in place.
      expect(await job.published()).toContain('enriched.csv._SUCCESS');
      job.service.behaviour = healthy;
      expect(await publish(job.config(), run)).toMatchObject({ run, exitCode: 0 });
      expect(job.service.count('upload')).toBe(sent);
      expect(job.service.count('download')).toBeGreaterThan(6);
      expect(await job.enrich()).toMatchObject({ run, found: 'done', exitCode: 0 });
      expect(await job.published()).toContain('enriched.csv._SUCCESS');
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });
});
