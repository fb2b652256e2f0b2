/**
 * After an outage longer than retry.giveUpAfter the affected chunks wait for the next run, and all others go on: rule
 * "Trouble stays with the chunk", docs/architecture.md#trouble-stays-with-the-chunk.
 */
import { readdir, truncate } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fetchFinished } from '../../../pipelines/fetch-finished.js';
import {
  collect,
  OutageError,
  openCheckpointReader,
  openRun,
  submit,
  TroubleError,
} from '../../../pipelines/index.js';
import type { SeenRequest, Trouble, TroubleMaker } from '../../fake-service/behaviour.js';
import { htmlPage } from '../../fake-service/troubles.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';

const all = failingAmong(60);
const giveUp: Changes = { retry: { giveUpAfter: '100ms' } };

/** Answers some requests with 500, or another status, forever. */
function failing(isOut: (request: SeenRequest) => boolean, status = 500): { trouble: TroubleMaker } {
  return { trouble: (request): Trouble | undefined => (isOut(request) ? htmlPage(status) : undefined) };
}

/** The states of the chunks of the unfinished run, by number. */
async function chunkStates(job: Job): Promise<string[]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const run = (await reader.unfinishedRun('hostile'))!;
    const states: string[] = [];
    for (let number = 1; ; number++) {
      const chunk = await reader.chunk(run.id, number);
      if (chunk === undefined) return states;
      states.push(chunk.state);
    }
  } finally {
    await reader.close();
  }
}

/** The service recovers: the same command succeeds, and nothing was paid twice. */
async function expectHealed(job: Job): Promise<void> {
  job.service.behaviour = {};
  const summary = await job.enrich();
  await expectSuccess(job, summary, all);
  await expectEnriched(job);
  expect([...job.service.acceptedByChunk().values()]).toEqual([1, 1, 1, 1, 1, 1]);
  expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 0, resubmitted: 0 });
}

async function expectOutage(job: Job, operation: string): Promise<void> {
  const error = await job.failure(giveUp);
  expect(error).toBeInstanceOf(OutageError);
  expect(error).toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE', facts: { operation } });
  expect(await job.published()).not.toContain('enriched.csv');
}

function here(...others: readonly [number, string][]): string[] {
  const states = Array.from({ length: 6 }, () => 'downloaded');
  for (const [chunk, state] of others) states[chunk - 1] = state;
  return states;
}

describe('an outage', () => {
  it.concurrent.each([1, 3])('of the polls of folio %i does not affect the others', async (stuck) => {
    const behaviour = failing(({ operation, chunk }) => operation === 'track' && chunk === stuck);
    await withJob({ behaviour, config: { concurrency: { folios: 2 } } }, async (job) => {
      await expectOutage(job, 'track');
      expect(await chunkStates(job)).toEqual(here([stuck, 'submitted']));
      // Again: chunks that are downloaded cost not even a request.
      const asked = job.service.seen.length;
      await expectOutage(job, 'track');
      expect(new Set(job.service.seen.slice(asked).map(({ chunk }) => chunk))).toEqual(new Set([stuck]));
      await expectHealed(job);
    });
  });

  it.concurrent.each([1, 3])('of the downloads of folio %i does not affect the others', async (stuck) => {
    const behaviour = failing(({ operation, chunk }) => operation === 'download' && chunk === stuck);
    await withJob({ behaviour, config: { concurrency: { downloads: 1 } } }, async (job) => {
      await expectOutage(job, 'download');
      expect(await chunkStates(job)).toEqual(here([stuck, 'finished']));
      await expectHealed(job);
    });
  });

  it.concurrent('of uploads starts no more uploads, and collects the open folios', async () => {
    const behaviour = {
      ...failing(({ operation, chunk }) => operation === 'upload' && chunk! > 3, 503),
      finishedAtPoll: () => 30,
    };
    await withJob({ behaviour }, async (job) => {
      await expectOutage(job, 'upload');
      const tried = job.service.seen.filter(({ operation }) => operation === 'upload');
      // Two uploads are in flight when the first is given up, so the sixth never starts.
      expect(Math.max(...tried.map(({ chunk }) => chunk!))).toBeLessThanOrEqual(5);
      expect((await chunkStates(job)).slice(0, 3)).toEqual(['downloaded', 'downloaded', 'downloaded']);
      expect((await chunkStates(job)).slice(3).every((state) => state === 'cut')).toBe(true);
      await expectHealed(job);
    });
  });

  it.concurrent('of uploads is not prolonged by chunks that wait for a folio permit', async () => {
    const behaviour = failing(({ operation, chunk }) => operation === 'upload' && chunk! > 1, 503);
    const concurrency = { uploads: 4, folios: 1 };
    await withJob({ behaviour, config: { concurrency } }, async (job) => {
      await expectOutage(job, 'upload');
      const tried = job.service.seen.filter(({ operation }) => operation === 'upload');
      expect(new Set(tried.map(({ chunk }) => chunk))).toEqual(new Set([1, 2]));
      await expectHealed(job);
    });
  });

  it.concurrent('of uploads does not stop the open folios of an earlier run from being collected', async () => {
    const concurrency = { uploads: 1, folios: 2 };
    await withJob({ behaviour: { finishedAtPoll: () => 20 }, config: { concurrency } }, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      expect((await chunkStates(job)).slice(0, 2)).toEqual(['submitted', 'submitted']);
      job.service.behaviour = {
        ...failing(({ operation }) => operation === 'upload', 503),
        finishedAtPoll: () => 20,
      };
      await expectOutage(job, 'upload');
      expect((await chunkStates(job)).slice(0, 2)).toEqual(['downloaded', 'downloaded']);
      await expectHealed(job);
    });
  });

  it.concurrent('that affects the second download of a damaged part does not affect the others', async () => {
    const slow = ({ chunk }: { chunk: number }) => (chunk === 1 || chunk > 4 ? Infinity : 1);
    await withJob({ behaviour: { finishedAtPoll: slow } }, async (job) => {
      await job.failure({}, stopAt('after-downloaded-before-merge', 3));
      const runs = path.join(job.config().stateDir, 'runs');
      const folder = path.join(runs, (await readdir(runs))[0]!);
      const parts = await readdir(folder);
      await truncate(
        path.join(folder, parts.find((name) => name.startsWith('part-000002-successful-0'))!),
        20,
      );
      job.service.behaviour = {
        ...failing(({ operation, chunk }) => operation === 'download' && chunk === 2),
        finishedAtPoll: ({ chunk }) => (chunk > 4 ? 60 : 1),
      };
      await expectOutage(job, 'download');
      expect(await chunkStates(job)).toEqual(here());
      await expectHealed(job);
    });
  });
});

describe('submit', () => {
  it('ends with the outage of uploads, and both submit and collect can go on', async () => {
    const behaviour = failing(({ operation, chunk }) => operation === 'upload' && chunk! > 3, 503);
    await withJob({ behaviour }, async (job) => {
      const error = await submit(job.config(giveUp)).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OutageError);
      expect(error).toMatchObject({ exitCode: 5, facts: { operation: 'upload' } });
      job.service.behaviour = {};
      const { chunks } = await submit(job.config());
      expect(chunks.byState).toMatchObject({ cut: 0, uploading: 0, ambiguous: 0 });
      await expectSuccess(job, await collect(job.config()), all);
      expect([...job.service.acceptedByChunk().values()]).toEqual([1, 1, 1, 1, 1, 1]);
    });
  });

  it('submits everything even if a folio cannot be polled', async () => {
    const behaviour = failing(({ operation, chunk }) => operation === 'track' && chunk === 1);
    await withJob({ behaviour, config: { concurrency: { folios: 2 } } }, async (job) => {
      const { chunks } = await submit(job.config(giveUp));
      expect(chunks).toMatchObject({ all: 6, byState: { cut: 0, uploading: 0, ambiguous: 0 } });
      await expectHealed(job);
    });
  });

  it('ends with 5 while an upload is ambiguous', async () => {
    const trouble: TroubleMaker = ({ operation, chunk, again }) =>
      operation === 'upload' && chunk === 3 && again <= 2 ? { kind: 'cut' } : undefined;
    await withJob({ behaviour: { trouble } }, async (job) => {
      const error = await submit(job.config()).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(TroubleError);
      expect(error).toMatchObject({ exitCode: 5, code: 'CHUNKS_AMBIGUOUS', facts: { ambiguous: 1 } });
      expect((await submit(job.config())).uploads).toEqual({ accepted: 6, ambiguous: 2, resubmitted: 2 });
      await expectSuccess(job, await collect(job.config()), all);
    });
  });
});

describe('collect', () => {
  it('--no-wait reports the outage, not that the service is still processing', async () => {
    // All folios are open at once, so submit need not wait until one of them is finished.
    const setup = { behaviour: { finishedAtPoll: () => Infinity }, config: { concurrency: { folios: 6 } } };
    await withJob(setup, async (job) => {
      await submit(job.config());
      job.service.behaviour = failing(({ operation }) => operation === 'track');
      const error = await collect(job.config(giveUp), { wait: false }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OutageError);
      job.service.behaviour = { finishedAtPoll: () => Infinity };
      await expect(collect(job.config(), { wait: false })).rejects.toMatchObject({
        code: 'STILL_PROCESSING',
      });
      await expectHealed(job);
    });
  });
});

describe('the first poll of a resume', () => {
  it('logs what failed, but the run ends with its own result', async () => {
    await withJob({ behaviour: { finishedAtPoll: () => 3 } }, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 1));
      job.service.behaviour = failing(({ operation }) => operation === 'track');
      const run = await openRun(job.config(giveUp));
      try {
        expect(await fetchFinished(run)).toBeInstanceOf(OutageError);
        expect(run.deferred.error).toBeUndefined();
        job.service.behaviour = {};
        expect(await fetchFinished(run)).toBeUndefined();
      } finally {
        await run.close();
      }
    });
  });
});
