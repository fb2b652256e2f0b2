/** Stored parts that are readable are never fetched again needlessly and never given up (rule "What was bought is kept"). */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, openCheckpointReader, submit } from '../../../pipelines/index.js';
import type { Behaviour, FakeFolio } from '../../fake-service/behaviour.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  expectUntrusted,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';

const all = failingAmong(60);

/** Buys and stores everything; publishing fails with the code. */
async function buyAll(job: Job, code: string, changes?: Changes): Promise<void> {
  await submit(job.config(changes));
  const ended = collect(job.config(changes)).then(() => undefined);
  await expect(ended).rejects.toMatchObject({ code, exitCode: 6 });
  expect(job.service.count('upload')).toBe(6);
}

async function runFolder(job: Job): Promise<string> {
  const runs = path.join(job.config().stateDir, 'runs');
  return path.join(runs, (await readdir(runs))[0]!);
}

async function partFiles(job: Job, chunk: number): Promise<string[]> {
  const folder = await runFolder(job);
  const names = (await readdir(folder)).filter((name) => name.startsWith(`part-00000${chunk}-`));
  return names.sort().map((name) => path.join(folder, name));
}

/** A chunk of the latest run, and how many of its parts are stored. */
async function kept(job: Job, chunk: number) {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const run = (await reader.latestRun('hostile'))!;
    const { state, cause } = (await reader.chunk(run.id, chunk))!;
    return { state, cause, parts: (await reader.parts(run.id, chunk)).length };
  } finally {
    await reader.close();
  }
}

function forgetAll(job: Job, forgotten = true): void {
  for (const folio of job.service.folios) folio.forgotten = forgotten;
}

const downloads = (job: Job, chunk: number) =>
  job.service.seen.filter((one) => one.operation === 'download' && one.chunk === chunk);

const wrong = { result: { columns: ['naics_code', 'naics_title', 'score'] } };
const right = { result: { columns: ['naics_code', 'naics_title', 'confidence'] } };

describe('once result.columns is corrected', () => {
  const nights: Readonly<Record<string, (job: Job) => void | Promise<void>>> = {
    'with the service shut down': (job) => job.service.close(),
    'with a service that has forgotten its folios': (job) => forgetAll(job),
  };

  it.each(Object.entries(nights))('the same command publishes what was bought, %s', async (_, befall) => {
    await withJob({ behaviour: { finishedAtPoll: () => 1 } }, async (job) => {
      await buyAll(job, 'COLUMNS_CHANGED', wrong);
      const asked = job.service.seen.length;
      await befall(job);
      await expectUntrusted(job, 'COLUMNS_CHANGED', wrong);
      await expectSuccess(job, await job.enrich(right), all);
      await expectEnriched(job);
      expect(job.service.seen.length).toBe(asked);
    });
  });

  it('an additional column of one folio is left out, without fetching again', async () => {
    const surprising: Behaviour = {
      finishedAtPoll: () => 1,
      results: (results, { chunk }) =>
        results.map((one) => (chunk === 4 ? { ...one, added: { ...one.added, surprise: 'boo' } } : one)),
    };
    await withJob({ behaviour: surprising }, async (job) => {
      await buyAll(job, 'COLUMNS_CHANGED');
      forgetAll(job);
      await expectSuccess(job, await job.enrich({ result: { onChange: 'ignore' } }), all);
      expect(downloads(job, 4).every(({ again }) => again === 1)).toBe(true);
    });
  });
});

describe('results that do not match, of a forgotten folio', () => {
  const strange: Behaviour = {
    finishedAtPoll: () => 1,
    results: ([first, ...rest], { chunk }: FakeFolio) =>
      chunk === 3 ? [{ ...first!, sent: { ...first!.sent, record_id: '4711' } }, ...rest] : [first!, ...rest],
  };

  it('are kept, and each run ends with their error', async () => {
    await withJob({ behaviour: strange }, async (job) => {
      await buyAll(job, 'RESULTS_DO_NOT_MATCH');
      const before = [await kept(job, 3), await partFiles(job, 3)];
      forgetAll(job);
      for (let times = 0; times < 2; times++) await expectUntrusted(job, 'RESULTS_DO_NOT_MATCH');
      expect([await kept(job, 3), await partFiles(job, 3)]).toEqual(before);
      expect(before[0]).toMatchObject({ state: 'downloaded' });

      forgetAll(job, false);
      job.service.behaviour = { finishedAtPoll: () => 1 };
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(job.service.count('upload')).toBe(6);
      // The files were replaced together with the rows.
      expect(await partFiles(job, 3)).toHaveLength((await kept(job, 3)).parts);
    });
  });

  it('are kept, too, if they do not balance', async () => {
    const short: Behaviour = {
      finishedAtPoll: () => 1,
      results: (results, { chunk }) => (chunk === 3 ? results.slice(1) : results),
      trouble: ({ operation, chunk, again }) =>
        operation === 'track' && chunk === 3 && again > 1
          ? { kind: 'answer', status: 404, body: '{"message":"no such folio"}' }
          : undefined,
    };
    await withJob({ behaviour: short }, async (job) => {
      await submit(job.config());
      for (let times = 0; times < 2; times++) {
        await expect(collect(job.config())).rejects.toMatchObject({ code: 'CHUNK_UNBALANCED', exitCode: 6 });
      }
      expect(await kept(job, 3)).toMatchObject({ state: 'finished' });
      job.service.behaviour = { finishedAtPoll: () => 1 };
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });
});

describe('a damaged part', () => {
  const behaviour: Behaviour = { finishedAtPoll: () => 1, partRecords: 4 };

  it('is the only part that is fetched again', async () => {
    await withJob({ behaviour }, async (job) => {
      await buyAll(job, 'COLUMNS_CHANGED', wrong);
      const [lost, ...others] = (await partFiles(job, 2)).filter((name) => name.includes('-successful-'));
      expect(others.length).toBeGreaterThan(0);
      await rm(lost!);
      const asked = job.service.seen.length;
      await expectSuccess(job, await job.enrich(right), all);
      await expectEnriched(job);
      expect(
        job.service.seen.slice(asked).map(({ operation, chunk, part }) => [operation, chunk, part]),
      ).toEqual([['download', 2, 'SUCCESSFUL 0']]);
    });
  });

  it('of a forgotten folio does not remove the other parts; they are used once the folio is known again', async () => {
    await withJob({ behaviour }, async (job) => {
      await buyAll(job, 'COLUMNS_CHANGED', wrong);
      const before = await kept(job, 2);
      const [lost] = await partFiles(job, 2);
      await rm(lost!);
      forgetAll(job);
      expect(await job.enrich(right)).toMatchObject({ exitCode: 3, counts: { unprocessed: 10 } });
      expect(await kept(job, 2)).toEqual({ ...before, state: 'unprocessed', cause: 'FOLIO_LOST' });
      await expectEnriched(job, (row, number) =>
        number > 10 && number <= 20
          ? {
              status: 'UNPROCESSED',
              code: 'FOLIO_LOST',
              error: 'the service no longer knows the folio of this record',
              added: {},
            }
          : predictedEnrichment(row),
      );

      forgetAll(job, false);
      const asked = downloads(job, 2).length;
      await expectSuccess(job, await job.enrich(right), all);
      await expectEnriched(job);
      expect(downloads(job, 2)).toHaveLength(asked + 1);
      expect(job.service.count('upload')).toBe(6);
    });
  });
});
