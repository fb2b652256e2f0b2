/** Forgotten folios and ambiguous uploads are named, counted, and never paid twice without a report. */
import { readdir, truncate } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Behaviour, Trouble } from '../../fake-service/behaviour.js';
import { predictedAnswer, type SentRecord } from '../../fake-service/parts.js';
import { firstUploadOf, htmlPage } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { type Enrichment, predictedEnrichment } from '../../helpers/jobs/sample-source.js';

const all = failingAmong(60);
const unknown: Trouble = { kind: 'answer', status: 404, body: '{"message":"no such folio"}' };

function unprocessed(code: string, error: string): Enrichment {
  return { status: 'UNPROCESSED', code, error, added: {} };
}

async function expectPartial(job: Job): Promise<void> {
  expect(await job.manifest()).toMatchObject({ status: 'PARTIAL', exitCode: 3, complete: false });
  expect(await job.published()).toEqual([
    'enriched.csv',
    'enriched.csv._PARTIAL',
    'enriched.csv.manifest.json',
  ]);
}

describe('a folio that the service has forgotten', () => {
  it('makes its records UNPROCESSED, and the others are published', async () => {
    await withJob({}, async (job) => {
      const trouble = ({
        chunk,
        operation,
      }: {
        chunk: number | null;
        operation: string;
      }): Trouble | undefined => (chunk === 2 && operation !== 'upload' ? unknown : undefined);
      job.service.behaviour = { trouble };
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 3, counts: { read: 60, unprocessed: 10 } });
      const lost = unprocessed('FOLIO_LOST', 'the service no longer knows the folio of this record');
      await expectEnriched(job, (row, number) =>
        number > 10 && number <= 20 ? lost : predictedEnrichment(row),
      );
      await expectPartial(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('has the same result if it is forgotten between FINISHED and the download', async () => {
    await withJob({}, async (job) => {
      job.service.behaviour = {
        tracking: (reply, folio) => {
          if (folio.chunk === 5 && folio.finished) job.service.forget(folio);
          return reply;
        },
      };
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 3, counts: { unprocessed: 10 } });
      await expectPartial(job);
    });
  });

  it('is not given up after a single 404', async () => {
    const trouble = ({ operation, again }: { operation: string; again: number }): Trouble | undefined =>
      operation === 'track' && again <= 4 ? unknown : undefined;
    await withJob({ behaviour: { trouble } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });
});

describe('a damaged part of a forgotten folio', () => {
  const lost = unprocessed('FOLIO_LOST', 'the service no longer knows the folio of this record');

  /** Damages the stored parts of a chunk, and lets the service forget its folio. */
  async function lose(job: Job, chunk: number): Promise<void> {
    const runs = path.join(job.config().stateDir, 'runs');
    const folder = path.join(runs, (await readdir(runs))[0]!);
    const parts = (await readdir(folder)).filter((name) => name.startsWith(`part-00000${chunk}-`));
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) await truncate(path.join(folder, part), 15);
    job.service.forget(job.service.folios.find((folio) => folio.chunk === chunk)!);
  }

  const setups: Readonly<Record<string, { chunk: number; finishedAtPoll: (chunk: number) => number }>> = {
    // The first chunk is not downloaded when the run is stopped, so that nothing is merged and no column is known.
    'that is needed for its rows': { chunk: 2, finishedAtPoll: (chunk) => (chunk === 1 ? Infinity : 1) },
    'that is the first to give the columns': { chunk: 1, finishedAtPoll: () => 1 },
  };

  it.each(Object.entries(setups))(
    '%s makes its records UNPROCESSED',
    async (_, { chunk, finishedAtPoll }) => {
      const behaviour: Behaviour = { finishedAtPoll: (folio) => finishedAtPoll(folio.chunk) };
      await withJob({ behaviour, config: { concurrency: { uploads: 1, folios: 2 } } }, async (job) => {
        await interrupt(job, stopAt('after-downloaded-before-merge', 1));
        await lose(job, chunk);
        job.service.behaviour = {};
        const summary = await job.enrich();
        expect(summary).toMatchObject({ exitCode: 3, counts: { read: 60, unprocessed: 10 } });
        expect(summary.columns).toEqual(['naics_code', 'naics_title', 'confidence']);
        await expectEnriched(job, (row, number) =>
          Math.ceil(number / 10) === chunk ? lost : predictedEnrichment(row),
        );
        await expectPartial(job);
        expect(job.service.count('upload')).toBe(6);
        expect(await job.enrich()).toMatchObject({ found: 'done', exitCode: 3 });
      });
    },
  );

  it('leaves no column to learn if it has the only successes of the run', async () => {
    const answer = (record: SentRecord) =>
      Number(record.record_id) > 10
        ? ({ status: 'FAILED', added: { reason: 'no' } } as const)
        : predictedAnswer(record);
    const behaviour: Behaviour = { answer, finishedAtPoll: () => 1 };
    await withJob({ behaviour, config: { concurrency: { uploads: 1, folios: 2 } } }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 1));
      await lose(job, 1);
      expect(await job.enrich()).toMatchObject({ exitCode: 3, columns: [], counts: { unprocessed: 10 } });
      const no = { status: 'FAILED', code: 'SERVICE_FAILED', error: 'no', added: {} };
      await expectEnriched(job, (_, number) => (number <= 10 ? lost : no));
    });
  });
});

const ambiguous: Readonly<Record<string, Trouble>> = {
  'accepted, and cut before the reply': { kind: 'lose', share: 0 },
  'accepted, and cut in the reply': { kind: 'lose', share: 0.5 },
  'not accepted, and cut': { kind: 'cut' },
  'not accepted, and 500': htmlPage(500),
  'not accepted, and 502': htmlPage(502),
};

describe('an ambiguous upload', () => {
  it.concurrent.each(Object.entries(ambiguous))('is sent again as the last chunk: %s', async (_, trouble) => {
    await withJob({ behaviour: { trouble: firstUploadOf([2, 5], trouble) } }, async (job) => {
      const summary = await job.enrich();
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 2, resubmitted: 2 });
      expect(summary.ambiguousRecords).toBe(20);
      expect((await job.manifest()).uploads).toEqual({ ...summary.uploads, ambiguousRecords: 20 });
      const uploads = job.service.seen.filter(({ operation }) => operation === 'upload');
      expect(uploads.map(({ chunk }) => chunk).slice(-2)).toEqual([2, 5]);
      expect(uploads.length).toBe(8);
      const accepted = trouble.kind === 'lose' ? 2 : 1;
      expect([...job.service.acceptedByChunk()].sort(([a], [b]) => a - b)).toEqual(
        [1, 2, 3, 4, 5, 6].map((chunk) => [chunk, chunk === 2 || chunk === 5 ? accepted : 1]),
      );
      expect(
        job.service.folios.map(({ fileName }) => fileName).filter((name) => /-2-hash8|-[25]-2-/.test(name)),
      ).toHaveLength(2);
    });
  });

  it.each([
    ['the policy is hold', { policy: 'hold' }],
    ['the allowed retries are used up', { policy: 'resubmit', maxRecords: 9 }],
  ])('is not sent again when %s', async (_, policy) => {
    const trouble = firstUploadOf([4], { kind: 'lose', share: 0 });
    await withJob({ behaviour: { trouble }, config: { ambiguous: policy } }, async (job) => {
      const summary = await job.enrich();
      expect(summary).toMatchObject({
        exitCode: 3,
        counts: { unprocessed: 10 },
        uploads: { accepted: 5, ambiguous: 1, resubmitted: 0 },
      });
      const held = unprocessed(
        'AMBIGUOUS_HELD',
        'the upload may or may not have been accepted and was not sent again',
      );
      await expectEnriched(job, (row, number) =>
        number > 30 && number <= 40 ? held : predictedEnrichment(row),
      );
      await expectPartial(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('that is ambiguous again waits for the next run, which sends it once more', async () => {
    const behaviour = {
      trouble: ({ operation, chunk, again }: { operation: string; chunk: number | null; again: number }) =>
        operation === 'upload' && chunk === 3 && again <= 2 ? ({ kind: 'cut' } as const) : undefined,
    };
    await withJob({ behaviour }, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'CHUNKS_AMBIGUOUS', exitCode: 5 });
      const summary = await job.enrich();
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 2, resubmitted: 2 });
    });
  });
});
