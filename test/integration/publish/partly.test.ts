/** `publishPartial` publishes at the deadline what is done; a later run goes on as if it had not. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  collect,
  DeadlineError,
  type Failpoint,
  InterruptedError,
  recover,
  reportRun,
} from '../../../pipelines/index.js';
import { createDeadline, deadlineAt } from '../../helpers/jobs/deadline.js';
import { expectEnriched, expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';
import { loseCheckpoint } from '../../helpers/state/killed-state.js';

/** Chunks 2 and 4 are never done; with at most four folios the last chunks wait for a permit. */
const slow = {
  ...behaviour,
  finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 2 || chunk === 4 ? Infinity : 1),
};
const stuck = new Set([2, 4]);
const chunkOf = (record: number) => Math.ceil(record / 10);

describe('at the deadline', () => {
  it('publishes what is done, the rest UNPROCESSED, and goes on later without paying again', async () => {
    await withJob({ behaviour: slow, config: { reuse: { maxAge: '90d' } } }, async (job) => {
      const summary = await partly(job);
      // Its answers are kept for later runs when it ends, with what was sent.
      const kept = await readdir(path.join(job.config().stateDir, 'runs', summary.run));
      expect(kept).toContain('chunk-000001.csv');
      expect(summary).toMatchObject({ state: 'open', exitCode: 8, counts: { read: 60, unprocessed: 20 } });
      expect(summary.output).toMatchObject({ records: 60, inPlace: true });
      await expectEnriched(job, (row, number) =>
        stuck.has(chunkOf(number)) ? deadlineAnswer : predictedEnrichment(row),
      );
      const manifest = await job.manifest();
      expect(manifest).toMatchObject({ status: 'PARTIAL', exitCode: 8, complete: false, publication: 1 });
      expect(manifest.counts).toEqual(summary.counts);
      expect(await outputs(job)).toEqual([
        'enriched.csv',
        'enriched.csv._PARTIAL',
        'enriched.csv.manifest.json',
      ]);
      const uploads = job.service.count('upload');

      // Whoever looks at the run later finds what the process at the deadline has told.
      const { partial } = summary;
      expect(partial).toMatchObject({ publication: 1, exitCode: 8, inPlace: true, heldBy: null });
      expect(partial).toMatchObject({ path: job.outputPath, counts: summary.counts });
      expect(partial!.failedBy).toContainEqual({
        code: 'DEADLINE',
        records: 20,
        reason: deadlineAnswer.error,
      });
      const later = await reportRun(job.config());
      expect(later.summary).toMatchObject({ state: 'open', exitCode: null, partial });
      await loseCheckpoint(job);
      await recover(job.config());
      expect((await reportRun(job.config())).summary).toMatchObject({ partial });

      job.service.behaviour = behaviour;
      const end = await job.enrich();
      expect([summary.publication, end.publication, end.partial]).toEqual([1, 2, null]);
      await expectSuccess(job, end, all);
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(job.service.count('upload')).toBe(uploads);
    });
  });

  it('publishes records that were never cut as UNPROCESSED, too, with the known columns', async () => {
    const oneDone = {
      ...behaviour,
      finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 1 ? 1 : Infinity),
    };
    await withJob(
      { behaviour: oneDone, config: { result: { columns: ['naics_code'], onChange: 'ignore' } } },
      async (job) => {
        const options = deadlineAt({ 'after-downloaded-before-merge': 1, 'after-accepted-before-poll': 5 });
        const summary = await job.enrich({}, options);
        expect(summary.counts).toEqual({ read: 60, successful: 8, failed: 2, unprocessed: 50, rejected: 0 });
        expect(summary.uploads.accepted).toBe(5);
        const [header] = (await job.output()).split('\n');
        expect(header).toMatch(
          /,prediction_status,prediction_error_code,prediction_error,prediction_naics_code$/,
        );
        expect((await job.manifest()).columns).toEqual(header!.split(','));
        job.service.behaviour = behaviour;
        const end = await job.enrich({ result: { columns: ['naics_code'], onChange: 'ignore' } });
        expect(end).toMatchObject({ state: 'done', counts: { unprocessed: 0 } });
      },
    );
  });

  it('keeps the earlier output if no record is answered', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      const before = await job.output();
      job.service.behaviour = { ...behaviour, finishedAtPoll: () => Infinity };
      const options = {
        fresh: true,
        reuse: false,
        ...deadlineAt({ 'after-accepted-before-poll': 2 }),
      } as const;
      const error = await job.failure({}, options);
      expect(error).toMatchObject({ code: 'DEADLINE_REACHED', exitCode: 8 });
      expect((error as Error).message).toContain('nothing is published, and an earlier output stays');
      expect(await job.output()).toBe(before);
      expect(await job.manifest()).toMatchObject({ publication: 1, exitCode: 0 });
    });
  });

  it('works with collect, too, after a run that publishes nothing without the option', async () => {
    await withJob({ behaviour: slow }, async (job) => {
      const options = { ...deadlineAt({ 'after-downloaded-before-merge': 4 }), publishPartial: false };
      await expect(job.enrich({}, options)).rejects.toBeInstanceOf(DeadlineError);
      expect(await outputs(job)).toEqual([]);
      const { options: later, come } = createDeadline();
      job.service.behaviour = { ...slow, hold: async () => come() };
      const summary = await collect(job.config(), { ...later, publishPartial: true });
      expect(summary).toMatchObject({ exitCode: 8, state: 'open' });
      expect(await outputs(job)).toContain('enriched.csv._PARTIAL');
    });
  });

  it.each(['.csv.gz', '.parquet'])('also where it comes while the %s output is made', async (end) => {
    await withJob({ behaviour }, async (job) => {
      const changes = { output: { path: `out/enriched${end}` } };
      const deadline = () => deadlineAt({ 'after-last-merge-before-publishing': 1 });
      expect(await job.failure(changes, { ...deadline(), publishPartial: false })).toMatchObject({
        code: 'DEADLINE_REACHED',
        exitCode: 8,
      });
      const partial = await job.enrich(changes, deadline());
      expect(partial).toMatchObject({ state: 'open', exitCode: 8, counts: { unprocessed: 0 } });
      expect(await job.enrich(changes)).toMatchObject({ state: 'done', exitCode: 0, publication: 2 });
    });
  });

  const windows: readonly Failpoint[] = [
    'after-publishing-before-rename',
    'after-rename-before-manifest',
    'after-manifest-before-marker',
    'after-marker-before-done',
  ];
  it.concurrent.each(windows)('interrupted %s, is finished by the next run, which goes on', async (point) => {
    await withJob({ behaviour: slow }, async (job) => {
      const options = deadlineAt({ 'after-downloaded-before-merge': 4 });
      const at = (here: Failpoint) => {
        if (here === point) throw new InterruptedError();
        options.at(here);
      };
      expect(await job.failure({}, { ...options, at })).toBeInstanceOf(InterruptedError);
      job.service.behaviour = behaviour;
      const end = await job.enrich();
      await expectSuccess(job, end, all);
      // The interrupted partial publication kept its number.
      expect(end.publication).toBe(2);
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });
});

const deadlineAnswer = {
  status: 'UNPROCESSED',
  code: 'DEADLINE',
  error: 'the deadline was reached before the service was done',
  added: {},
} as const;

function partly(job: Job) {
  return job.enrich({}, deadlineAt({ 'after-downloaded-before-merge': 4 }));
}

/** The files that a loader sees. */
async function outputs(job: Job): Promise<string[]> {
  const names = (await job.published()).filter((name) => !name.endsWith('.partial'));
  for (const name of names) await readFile(path.join(path.dirname(job.outputPath), name));
  return names;
}
