/** Folios that are forgotten and uploads of which nobody knows: named, counted, and never paid twice in silence. */
import { readdir, truncate } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Behaviour, Trouble } from '../helpers/other-service-behaviour.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../helpers/other-service-job.js';
import { foreseenAnswer, type SentRecord } from '../helpers/other-service-parts.js';
import { interrupt, stopAt } from '../helpers/other-service-resume.js';
import { type Enrichment, foreseen } from '../helpers/other-service-source.js';
import { firstUploadOf, htmlPage } from '../helpers/other-service-troubles.js';

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
      await expectEnriched(job, (row, number) => (number > 10 && number <= 20 ? lost : foreseen(row)));
      await expectPartial(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is the same when it is forgotten between FINISHED and the download', async () => {
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

  it('is not believed forgotten because of a blip', async () => {
    const trouble = ({ operation, again }: { operation: string; again: number }): Trouble | undefined =>
      operation === 'track' && again <= 4 ? unknown : undefined;
    await withJob({ behaviour: { trouble } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });
});

describe('a stored part that is damaged, of a folio that is forgotten', () => {
  const lost = unprocessed('FOLIO_LOST', 'the service no longer knows the folio of this record');

  /** Damages what is stored of a chunk, and lets the service forget it. */
  async function lose(job: Job, chunk: number): Promise<void> {
    const runs = path.join(job.config().stateDir, 'runs');
    const folder = path.join(runs, (await readdir(runs))[0]!);
    const parts = (await readdir(folder)).filter((name) => name.startsWith(`part-00000${chunk}-`));
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) await truncate(path.join(folder, part), 15);
    job.service.forget(job.service.folios.find((folio) => folio.chunk === chunk)!);
  }

  const setups: Readonly<Record<string, { chunk: number; finishedAtPoll: (chunk: number) => number }>> = {
    // The first chunk is not here when the run is stopped, so that nothing is merged and no column is known.
    'and is needed for its rows': { chunk: 2, finishedAtPoll: (chunk) => (chunk === 1 ? Infinity : 1) },
    'and is the one that tells the columns': { chunk: 1, finishedAtPoll: () => 1 },
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
        await expectEnriched(job, (row, number) => (Math.ceil(number / 10) === chunk ? lost : foreseen(row)));
        await expectPartial(job);
        expect(job.service.count('upload')).toBe(6);
        expect(await job.enrich()).toMatchObject({ found: 'done', exitCode: 3 });
      });
    },
  );

  it('and has the only successes of the run leaves no column to learn', async () => {
    const answer = (record: SentRecord) =>
      Number(record.record_id) > 10
        ? ({ status: 'FAILED', added: { reason: 'no' } } as const)
        : foreseenAnswer(record);
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
  it.concurrent.each(Object.entries(ambiguous))('is sent again, last of all: %s', async (_, trouble) => {
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
    ['the allowance is used up', { policy: 'resubmit', maxRecords: 9 }],
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
      await expectEnriched(job, (row, number) => (number > 30 && number <= 40 ? held : foreseen(row)));
      await expectPartial(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('that is ambiguous again is left to the next run, which sends it once more', async () => {
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
