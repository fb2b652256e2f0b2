/** `retry` sends the failed records of a published run once more, by upload or search, and publishes again. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { collect, planRetry, prune, publish, recover, retry, submit } from '../../../pipelines/index.js';
import {
  expectPredicted,
  failedIn,
  failing,
  failingSetup,
  roundsOf,
  withLatestRun,
} from '../../helpers/jobs/failing-job.js';
import { fineNames, type LocalJob, sourceOf, withLocalJob } from '../../helpers/jobs/local-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { killCliAt } from '../../helpers/processes/cli.js';
import { loseCheckpoint } from '../../helpers/state/killed-state.js';

const half = [failing('50%', 3)];

/** Runs `use` with a published job that has failed records; from now on the service fails none. */
async function published(
  use: (job: LocalJob, run: string, before: Buffer) => Promise<void>,
  config: Readonly<Record<string, object>> = {},
): Promise<void> {
  await withLocalJob(failingSetup(half, config), async (job) => {
    const { run } = await job.enrich();
    const before = await readFile(job.output);
    expect(failedIn(before).length).toBeGreaterThan(10);
    await use(job, run, before);
  });
}

describe('retry of a published run', () => {
  it('sends the failed records once, publishes again, and the run is done', async () => {
    await published(async (job, run, before) => {
      const summary = await retry(job.config(), run);
      expect(summary).toMatchObject({
        run,
        state: 'done',
        exitCode: 0,
        counts: { successful: 30, failed: 0 },
      });
      await expectPredicted(job);
      expect((await roundsOf(job)).flat(2)).toEqual(failedIn(before));
      const marker = JSON.parse(await readFile(`${job.output}._REHEARSAL`, 'utf8'));
      expect(marker.output).toMatchObject({ sha256: summary.output!.sha256 });
      expect(await job.enrich()).toMatchObject({ found: 'done', uploads: summary.uploads });
    });
  });

  it('also works after the checkpoint was rebuilt and nothing counts as merged', async () => {
    await published(async (job, run) => {
      await loseCheckpoint(job);
      await recover(job.config());
      expect(await retry(job.config(), run)).toMatchObject({ counts: { successful: 30, failed: 0 } });
      await expectPredicted(job);
    });
  });

  it('without failed records sends nothing and changes neither the output nor its exit code', async () => {
    await published(async (job, run) => {
      await retry(job.config(), run);
      const said: string[] = [];
      const info = (_: object, message: string) => void said.push(message);
      const logger = { debug: () => {}, info, warn: () => {}, error: () => {} };
      const [summary, again] = [await job.enrich(), await retry(job.config(), run, { logger })];
      expect(said).toContain(`run ${run} has no failed record of its own to ask for again: nothing is sent`);
      expect(again).toMatchObject({ state: 'done', exitCode: 0, uploads: summary.uploads });
      expect(again.finishedAt).toBe(summary.finishedAt);
    });
  });

  it('is planned, held to the budget and told before anything changes', async () => {
    await published(async (job, run, before) => {
      const records = failedIn(before).length;
      const dry = await callMain(['retry', 'last', job.file, '--dry-run']);
      expect(dry).toMatchObject({ code: 0, stderr: '' });
      expect(dry.stdout).toContain(`retry -c ${job.file} ${run} sends ${records} failed records once more`);
      const budget = (perRun: number) => job.config({ budget: { perRun, pricePerRecord: 0.5 } });
      expect(await planRetry(budget(99), run)).toMatchObject({
        ...{ run, by: 'upload', records, reused: 0, amount: 0, rehearsal: true },
        budget: [{ cap: 'perRun', limit: 99, left: 69 }],
      });
      await expect(retry(budget(29 + records), run)).rejects.toMatchObject({
        code: 'BUDGET_TOO_SMALL',
        exitCode: 9,
        hint: expect.stringContaining('the run is unchanged; raise budget.perRun'),
      });
      expect((await job.enrich()).found).toBe('done');
      const said: string[] = [];
      const info = (_: object, message: string) => void said.push(message);
      const logger = { debug: () => {}, info, warn: () => {}, error: () => {} };
      await retry(budget(30 + records), run, { logger });
      expect(said).toContain(
        `run ${run}: retry sends ${records} failed records once more, a rehearsal costs nothing`,
      );
      expect(await planRetry(job.config(), run)).toMatchObject({ records: 0 });
    });
  });

  it('by search looks up the failed records one by one', async () => {
    await published(async (job, run, before) => {
      const by = 'search';
      await expect(retry(job.config(), run, { by })).rejects.toMatchObject({
        code: 'RESCUE_UNKNOWN',
        message: expect.stringMatching(/rescueColumns[\s\S]*legacyBaseUrl/),
      });
      const config = job.config({
        failures: { rescueColumns: { naics_code: 'response.naics_code' } },
        service: { legacyBaseUrl: job.config().service.baseUrl! },
      });
      const summary = await retry(config, run, { by });
      expect(summary.searches).toEqual({ answered: failedIn(before).length, ambiguous: 0 });
      await expectPredicted(job);
      expect(summary.uploads.accepted).toBe(3);
    });
  });

  it('does not replace an output that was changed', async () => {
    await published(async (job, run, before) => {
      await writeFile(job.output, 'edited');
      await expect(retry(job.config(), run)).rejects.toMatchObject({
        exitCode: 2,
        code: 'OUTPUT_CHANGED',
        message: expect.stringContaining('is no longer what was published'),
        hint: expect.stringContaining(`foliopipe publish ${run}`),
      });
      await publish(job.config(), run);
      expect(await readFile(job.output)).toEqual(before);
      await retry(job.config(), run);
      await expectPredicted(job);
    });
  });

  it.each([
    ['that is missing', (job: LocalJob) => rm(job.output)],
    [
      'that another run has published',
      async (job: LocalJob) => {
        const source = await readFile(job.source);
        await writeFile(job.source, sourceOf(fineNames(10)));
        await job.enrich();
        await writeFile(job.source, source);
      },
    ],
  ])('publishes over an output %s', async (_, change) => {
    await published(async (job, run) => {
      await change(job);
      const summary = await retry(job.config(), run);
      expect(summary).toMatchObject({ run, state: 'done', counts: { successful: 30 } });
      await expectPredicted(job);
      const marker = JSON.parse(await readFile(`${job.output}._REHEARSAL`, 'utf8'));
      expect(marker).toMatchObject({ run, publication: summary.publication });
      await rm(job.output);
      const again = await retry(job.config(), run);
      expect(again).toMatchObject({ publishedAgain: 'its output was not there', uploads: summary.uploads });
      expect(again.publication).toBe(summary.publication! + 1);
      await expectPredicted(job);
    });
  });

  it('is refused while another run is open, and without the stored results', async () => {
    await published(async (job, run) => {
      const upload = { on: 'upload', fault: { status: 503 } };
      await job.restartService([upload]);
      const short = { retry: { giveUpAfter: '50ms' } };
      expect(await job.failure(short, { fresh: true })).toMatchObject({ exitCode: 5 });
      await expect(retry(job.config(), run)).rejects.toMatchObject({ code: 'RETRY_RUN_NOT_LAST' });
      const { run: open } = await job.kept();
      await expect(retry(job.config(), open.id)).rejects.toMatchObject({ code: 'RUN_UNFINISHED' });
      await job.restartService([]);
      await job.enrich();
      await prune(job.config(), { olderThan: -1 });
      await expect(retry(job.config(), run)).rejects.toMatchObject({ code: 'RUN_PRUNED', exitCode: 9 });
    });
  });
});

describe('a retry that is interrupted', () => {
  it('leaves the old output, and collect says that another upload is needed', async () => {
    await published(async (job, run, before) => {
      await job.restartService([{ on: 'upload', fault: { status: 503 } }]);
      const config = job.config({ retry: { giveUpAfter: '50ms' } });
      await expect(retry(config, run)).rejects.toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE' });
      expect(await readFile(job.output)).toEqual(before);
      await expect(collect(config)).rejects.toMatchObject({
        exitCode: 5,
        code: 'ROUND_UNFINISHED',
        hint: expect.stringContaining('foliopipe run'),
      });
      await job.restartService([]);
      // Chunks that were cut are sent; run cuts the others.
      await submit(job.config());
      await expect(collect(config)).rejects.toMatchObject({ code: 'ROUND_UNFINISHED' });
      expect(await job.enrich()).toMatchObject({ found: 'continued', state: 'done' });
      await expectPredicted(job);
      expect((await roundsOf(job)).flat(2)).toEqual(failedIn(before));
    });
  });

  it('after its round was sent is finished by collect', async () => {
    await published(async (job, run) => {
      await job.restartService([{ on: 'track', fault: { status: 503 } }]);
      const config = job.config({ retry: { giveUpAfter: '50ms' }, concurrency: { folios: 9 } });
      await expect(retry(config, run)).rejects.toMatchObject({ exitCode: 5 });
      await job.restartService([]);
      const uploads = (await job.kept()).tally.uploads.accepted;
      const summary = await collect(job.config());
      expect(summary).toMatchObject({ state: 'done', uploads: { accepted: uploads } });
      await expectPredicted(job);
    });
  });

  it.each([
    ['run', 'after-intent-before-post'],
    ['retry', 'after-reopened-before-retry'],
    ['retry', 'after-last-merge-before-publishing'],
  ])('is continued by %s after a kill at %s, and nothing is sent twice', async (command, armed) => {
    await published(async (job, run, before) => {
      await killCliAt(armed, ['retry', run, job.file]);
      expect(await readFile(job.output)).toEqual(before);
      const end = await callMain([command, ...(command === 'retry' ? [run] : []), job.file]);
      expect(end.code, end.stderr).toBe(0);
      await expectPredicted(job);
      expect((await roundsOf(job)).flat(2)).toEqual(failedIn(before));
      const { run: row } = await job.kept();
      expect(row).toMatchObject({ state: 'done', round: 1 });
      const spent = await withLatestRun(job, (reader) => reader.spending('nightly', run, '2026-11-21'));
      const twice = armed.startsWith('after-intent') ? 10 : 0;
      expect(spent.run).toBe(30 + failedIn(before).length + twice);
    });
  });

  it('before anything is sent is only published again by run', async () => {
    await published(async (job, run, before) => {
      await killCliAt('after-reopened-before-retry', ['retry', run, job.file]);
      expect(await job.enrich()).toMatchObject({ state: 'done', uploads: { accepted: 3 } });
      expect(await readFile(job.output)).toEqual(before);
    });
  });

  it.each([
    'after-last-merge-before-publishing',
    'after-publishing-before-rename',
    'after-rename-before-manifest',
    'after-manifest-before-marker',
    'after-marker-before-done',
  ])('by a kill at %s sends no second round when it is typed again', async (armed) => {
    await withLocalJob(failingSetup([failing('50%', 99)]), async (job) => {
      const { run } = await job.enrich();
      const failed = failedIn(await readFile(job.output));
      await killCliAt(armed, ['retry', run, job.file]);
      const uploads = (await job.served()).length;
      const again = await callMain(['retry', run, job.file]);
      expect(again.code, again.stderr).toBe(0);
      expect(again.stderr).toContain('nothing more is sent');
      expect((await roundsOf(job)).flat(2)).toEqual(failed);
      expect(await job.served()).toHaveLength(uploads);
      const left = failedIn(await readFile(job.output));
      expect(left.length).toBeGreaterThan(0);
      expect(left.length).toBeLessThan(failed.length);
      expect((await job.kept()).run).toMatchObject({ state: 'done', round: 1 });
      // Typed once more, it is a new retry.
      await retry(job.config(), run);
      expect((await roundsOf(job)).slice(1).flat(2)).toEqual(left);
    });
  });

  it.each(['after-segment-before-withheld', 'after-withheld-before-removal'])(
    'by a kill at %s, of a withheld run, sends no second round either',
    async (armed) => {
      const config = { failures: { tolerate: '1%', onExceeded: 'withhold' }, chunks: { maxRecords: 30 } };
      await withLocalJob(failingSetup([failing('50%', 99)], config), async (job) => {
        const { run } = await job.enrich();
        await killCliAt(armed, ['retry', run, job.file]);
        expect(await job.served()).toHaveLength(2);
        expect((await callMain(['retry', run, job.file])).code).toBe(9);
        expect(await job.served()).toHaveLength(2);
        expect((await job.kept()).run).toMatchObject({ state: 'withheld', round: 1 });
        expect((await callMain(['retry', run, job.file])).code).toBe(9);
        expect(await job.served()).toHaveLength(3);
      });
    },
  );
});
