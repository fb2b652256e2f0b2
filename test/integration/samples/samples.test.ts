/** A sample (`--limit`): a run of the first records alone, which no night resumes, finds done or is loaded from. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Failpoint,
  load,
  namedRun,
  openCheckpointReader,
  planRun,
  publish,
  retry,
} from '../../../pipelines/index.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { readManifest } from '../../helpers/jobs/read-manifest.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { killCliAt } from '../../helpers/processes/cli.js';
import { openServe } from '../../helpers/service/serve.js';

const reuse = { reuse: { maxAge: '30d', failedAge: '30d' } };
const signal = new AbortController().signal;
const sampleOf = (job: Job) => `${job.outputPath}.sample.csv`;
/** How many records the service was paid for. */
const paid = (job: Job) => job.service.folios.reduce((sum, folio) => sum + folio.records.length, 0);
const runsOf = async (job: Job) => {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    return { runs: await reader.runs('hostile'), last: await namedRun(reader, 'hostile', 'last') };
  } finally {
    await reader.close();
  }
};

const nightsOf = async (job: Job) => {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    return await reader.nights('hostile', 10);
  } finally {
    await reader.close();
  }
};

describe('a sample', () => {
  it('is its own run beside an unfinished night, and both have the same first rows', async () => {
    await withJob({}, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      const open = job.service.folios.length;
      const sample = await job.enrich({}, { limit: 25 });
      expect(sample).toMatchObject({ sample: 25, exitCode: 0, found: 'new', counts: { read: 25 } });
      expect(await job.published()).not.toContain('enriched.csv');
      const names = (await job.published()).filter((name) => name.includes('.sample.csv'));
      expect(names).toEqual(['', '._SAMPLE', '.manifest.json'].map((end) => `enriched.csv.sample.csv${end}`));
      expect(await readManifest(sampleOf(job))).toMatchObject({
        status: 'SAMPLE',
        sample: { limit: 25 },
        source: [{ records: 25 }],
      });
      expect(job.service.folios.length).toBe(open + 3);

      const night = await job.enrich();
      expect(night).toMatchObject({ sample: null, found: 'continued', counts: { read: 60 } });
      const rows = await readFile(sampleOf(job), 'utf8');
      expect((await job.output()).startsWith(rows)).toBe(true);
      expect(await job.published()).toContain('enriched.csv._SUCCESS');
      expect((await nightsOf(job)).map(({ run }) => run)).toEqual([night.run]);

      expect(await job.enrich({}, { limit: 25 })).toMatchObject({ run: sample.run, found: 'done' });
      expect(await job.enrich({}, { limit: 1000 })).toMatchObject({ found: 'new', counts: { read: 60 } });
      const { runs, last } = await runsOf(job);
      expect(runs).toHaveLength(3);
      expect(last?.id).toBe(night.run);
    });
  });

  it('goes on by the same limit alone, wherever it was stopped', async () => {
    const moments: readonly (readonly [Failpoint, number])[] = [
      ['after-intent-before-post', 2],
      ['after-accepted-before-poll', 2],
      ['after-merged-before-next', 2],
      ['after-publishing-before-rename', 1],
      ['after-manifest-before-marker', 1],
    ];
    for (const [point, nth] of moments) {
      await withJob({}, async (job) => {
        await job.failure({}, { ...stopAt(point, nth), limit: 25 });
        const { runs } = await runsOf(job);
        expect(await planRun(job.config(), { signal })).toMatchObject({
          next: { kind: 'begin', records: 60 },
        });
        const sample = await job.enrich({}, { limit: 25 });
        expect(sample.run).toBe(runs[0]!.id);
        expect(sample.counts).toMatchObject({ read: 25, unprocessed: 0 });
        expect(await job.published()).toContain('enriched.csv.sample.csv._SAMPLE');
        const asked = sample.uploads.accepted + sample.uploads.ambiguous;
        expect(asked, point).toBe(3);
      });
    }
  });

  it('is killed, and goes on', async () => {
    await withFolder(async (folder) => {
      const serve = await openServe(path.join(folder, 'service'));
      const job = await createJob(folder, { baseUrl: serve.url });
      const args = ['run', job.config, '--limit', '25'];
      await killCliAt('after-post-before-commit:2', args, { env: job.env });
      expect(await callMain(args, { env: job.env })).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/continuing sample .* cut off .*sample \(--limit 25\), rehearsal /s),
      });
      const rows = await readFile(`${job.output}.sample.csv`, 'utf8');
      await callMain(['run', job.config], { env: job.env });
      expect((await readFile(job.output, 'utf8')).startsWith(rows)).toBe(true);
      await serve.stop();
    });
  });

  it('checks no record behind it, and says nothing of bad ones there', async () => {
    const bad = 'x,y\n';
    await withJob({ files: { 'source.csv': sourceText(60) + bad } }, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'SOURCE_FIELD_COUNT' });
      expect(await job.enrich({}, { limit: 60 })).toMatchObject({ counts: { read: 60, rejected: 0 } });
      expect(await job.failure({}, { limit: 61 })).toMatchObject({ code: 'SOURCE_FIELD_COUNT' });
      expect(await job.failure({}, { limit: 0 })).toMatchObject({ code: 'LIMIT_INVALID' });
    });
  });

  it('counts rejected and blank records like the whole source, over several files', async () => {
    const header = 'id,Business,Address,State,Note\n';
    const files = {
      'a.csv': `${header}1,A Ltd,1 St,MT,n\nbroken\n2,B Ltd,2 St,MT,n\n`,
      'b.csv': `${header}3,,,,n\n4,D Ltd,4 St,MT,n\n`,
    };
    const source = { path: '*.csv', maxRejected: 10 };
    await withJob({ files, config: { source } }, async (job) => {
      const { counts, origins } = await job.enrich({}, { limit: 4 });
      expect(counts).toMatchObject({ read: 4, rejected: 1, failed: 1, successful: 2 });
      expect(origins.skipped.records).toBe(1);
      expect((await readFile(sampleOf(job), 'utf8')).split('\n')).toHaveLength(5);
      expect(await readFile(`${sampleOf(job)}.rejects.csv`, 'utf8')).toContain('broken');
    });
  });

  it('counts in the budget, gives its answers to the night, and is no reason to ask before it', async () => {
    const config = { ...reuse, budget: { perDay: 70 }, chunks: { canary: 'auto' } };
    await withJob({ config }, async (job) => {
      await job.enrich({}, { limit: 20 });
      const plan = await planRun(job.config(), { signal });
      expect(plan.budget).toMatchObject([{ cap: 'perDay', spent: paid(job) }]);
      const { sent, stops } = plan.reuse!;
      expect(stops).toBeNull();
      expect(sent).toBeLessThanOrEqual(60 - paid(job));
      const before = paid(job);
      expect(await job.enrich()).toMatchObject({ counts: { read: 60 } });
      expect(paid(job) - before).toBe(sent);
      // A later sample finds its answers, and pays nothing.
      expect(await job.enrich({}, { limit: 10 })).toMatchObject({ uploads: { accepted: 0 } });
    });
  });

  it('is a plain CSV without delta beside an output of another kind, and no base of the next delta', async () => {
    const config = {
      source: { key: 'id' },
      output: { path: 'out/{date}.csv.gz', delta: true, maxFileBytes: null },
    };
    await withJob({ config }, async (job) => {
      await job.enrich();
      const sample = await job.enrich({}, { limit: 10 });
      expect(sample.output!.path).toMatch(/\d\.csv\.gz\.sample\.csv$/);
      expect(await readFile(sample.output!.path, 'utf8')).toMatch(/^id,Business,/);
      expect(sample.delta).toBeUndefined();
      await writeFile(job.sourcePath, sourceText(61));
      expect(await job.enrich()).toMatchObject({ delta: { added: 1, changed: 0, removed: 0 } });
    });
    await withJob({ config: { output: { path: 'out/nights/', maxFileBytes: '1KB' } } }, async (job) => {
      const sample = await job.enrich({}, { limit: 10 });
      expect(sample.output!.path).toBe(path.join(job.folder, 'out/nights.sample.csv'));
    });
  });

  it('is published and retried by its name, and loaded never', async () => {
    await withJob({}, async (job) => {
      const sample = await job.enrich({}, { limit: 10 });
      await expect(publish(job.config(), 'last')).rejects.toMatchObject({
        code: 'RUN_UNKNOWN',
        hint: expect.stringContaining('last names no sample'),
      });
      const night = await job.enrich();
      const nightly = await job.output();
      const other = job.config({ output: { prefix: 'p_' } });
      expect(await publish(other, sample.run)).toMatchObject({ sample: 10, run: sample.run });
      expect(await readFile(sampleOf(job), 'utf8')).toContain('p_status');
      expect(await retry(other, sample.run)).toMatchObject({ sample: 10, run: sample.run });
      expect(await job.output()).toBe(nightly);
      expect((await runsOf(job)).last?.id).toBe(night.run);
      const loading = job.config({ load: { into: 'duckdb:w.duckdb', table: 't', mode: 'append' } });
      await expect(load(loading, sample.run)).rejects.toMatchObject({ code: 'LOAD_NOT_LOADABLE' });
    });
  });

  it('is what a limit asks for, not a part of a run that is named', async () => {
    await withJob({}, async (job) => {
      const night = await job.enrich();
      const named = { run: night.run, counts: { read: 60 } };
      const other = job.config({ output: { prefix: 'p_' } });
      expect(await publish(other, night.run, { limit: 10 })).toMatchObject(named);
      expect(await retry(other, night.run, { limit: 10 })).toMatchObject(named);
    });
  });
});
