/** A run stopped at any moment and started again gives the same bytes as an uninterrupted one and pays nothing twice. */
import { appendFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Failpoint, InterruptedError, type JobEvent } from '../../../pipelines/index.js';
import { predictedAnswer, type SentRecord } from '../../fake-service/parts.js';
import { expectEnriched, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, expectResumed, interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';

describe('a run that was stopped', () => {
  const moments: readonly (readonly [Failpoint, number])[] = [
    ['after-run-before-chunk', 1],
    ['after-cut-before-intent', 3],
    ['after-intent-before-post', 2],
    ['after-accepted-before-poll', 1],
    ['after-accepted-before-poll', 4],
    ['after-finished-reply-before-commit', 2],
    ['after-finished-before-download', 3],
    ['after-part-file-before-commit', 4],
    ['after-downloaded-before-merge', 1],
    ['after-columns-before-merge', 1],
    ['after-work-write-before-commit', 2],
    ['after-merged-before-next', 3],
  ];

  it.concurrent.each(moments)('at %s, time %i, goes on', async (point, nth) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt(point, nth));
      await expectResumed(job);
    });
  });

  it('while the source is checked starts again with nothing paid', async () => {
    await withJob({ behaviour }, async (job) => {
      const controller = new AbortController();
      const onProgress = ({ type }: JobEvent) => {
        if (type === 'scan') controller.abort(new InterruptedError());
      };
      await interrupt(job, { signal: controller.signal, onProgress });
      expect(job.service.seen).toEqual([]);
      await expectResumed(job);
    });
  });

  it('while it polls folios goes on, whatever happened meanwhile', async () => {
    await withJob({ behaviour: { ...behaviour, finishedAtPoll: () => Infinity } }, async (job) => {
      const controller = new AbortController();
      const running = job.failure({}, { signal: controller.signal });
      await expect.poll(() => job.service.count('track'), { interval: 5 }).toBeGreaterThan(12);
      await expect.poll(() => job.service.folios.length, { interval: 5 }).toBe(4);
      controller.abort(new InterruptedError());
      expect(await running).toBeInstanceOf(InterruptedError);
      expect(job.service.folios.length).toBe(4);
      job.service.behaviour = behaviour;
      await expectResumed(job);
      expect(job.service.folios.length).toBe(6);
    });
  });

  it('again and again comes to an end', async () => {
    // However many chunks a run still merges after the signal, something is left for the next run.
    const without = (stuck: number) => ({
      ...behaviour,
      finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === stuck ? Infinity : 1),
    });
    await withJob({ behaviour: without(3) }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      await interrupt(job, stopAt('after-downloaded-before-merge', 1));
      await interrupt(job, stopAt('after-work-write-before-commit', 1));
      job.service.behaviour = without(6);
      await interrupt(job, stopAt('after-merged-before-next', 1));
      job.service.behaviour = behaviour;
      await expectResumed(job);
    });
  });

  it('before it started did nothing', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, { signal: AbortSignal.abort(new InterruptedError()) });
      expect(await readdir(job.folder)).not.toContain('.foliopipe');
    });
  });

  it('by any other reason ends with an InterruptedError that has it as its cause', async () => {
    await withJob({ behaviour }, async (job) => {
      const error = await job.failure({}, { signal: AbortSignal.abort() });
      expect(error).toMatchObject({ code: 'INTERRUPTED', exitCode: 143, cause: { name: 'AbortError' } });
    });
  });
});

describe('a run whose files were changed', () => {
  async function partFiles(job: Job): Promise<string[]> {
    const runs = path.join(job.config().stateDir, 'runs');
    const [run] = await readdir(runs);
    const names = (await readdir(path.join(runs, run!))).filter((name) => name.startsWith('part-'));
    return names.sort().map((name) => path.join(runs, run!, name));
  }

  it('fetches lost and damaged parts again, including the first ones', async () => {
    await withJob({ behaviour, config: { concurrency: { folios: 1, uploads: 1 } } }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 1));
      const [first, ...others] = await partFiles(job);
      await rm(first!);
      for (const file of others) await writeFile(file, 'no gzip at all');
      await expectResumed(job);
      expect(job.service.folios.length).toBe(6);
    });
  });

  it('fetches a part again that was truncated while it waited to be merged', async () => {
    const slow = {
      ...behaviour,
      finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 1 ? Infinity : 1),
    };
    await withJob({ behaviour: slow }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 5));
      for (const file of await partFiles(job)) await truncate(file, 30);
      job.service.behaviour = behaviour;
      await expectResumed(job);
    });
  });

  it('fetches a damaged part again even to learn only the columns', async () => {
    const answer = (record: SentRecord) =>
      Number(record.record_id) <= 10
        ? ({ status: 'FAILED', added: { reason: 'no' } } as const)
        : predictedAnswer(record);
    const finishedAtPoll = ({ chunk }: { chunk: number }) => (chunk === 1 ? Number.POSITIVE_INFINITY : 1);
    await withJob({ behaviour: { answer, finishedAtPoll } }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 5));
      for (const file of await partFiles(job)) await truncate(file, 30);
      job.service.behaviour = { answer };
      expect(await job.enrich()).toMatchObject({ exitCode: 0, uploads: { accepted: 6 } });
      await expectEnriched(job, (row, number) =>
        number <= 10
          ? { status: 'FAILED', code: 'SERVICE_FAILED', error: 'no', added: {} }
          : predictedEnrichment(row),
      );
    });
  });

  const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
    'is longer': (file) => appendFile(file, '4711,half a rec'),
    'is a byte shorter': async (file) => truncate(file, (await readFile(file)).length - 1),
    'has lost all but its header': (file) => truncate(file, 10),
    'is gone': (file) => rm(file),
  };

  it.each(Object.entries(damages))('repairs a work file that %s', async (_, damage) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-merged-before-next', 3));
      const [work] = (await job.published()).filter((name) => name.endsWith('.partial'));
      await damage(path.join(path.dirname(job.outputPath), work!));
      await expectResumed(job);
    });
  });
});
