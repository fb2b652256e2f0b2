/** Correct implementations of the interface may differ in many ways; the output is right with all of them. */
import { describe, expect, it } from 'vitest';
import { RefusedError } from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type Answer, predictedAnswer, type SentRecord } from '../../fake-service/parts.js';
import { firstTimes, givingBack, shuffled } from '../../fake-service/troubles.js';
import { expectEnriched, expectSuccess, failingAmong, withJob } from '../../helpers/jobs/fake-service-job.js';
import { enrichmentOf, predictedEnrichment, sentOf } from '../../helpers/jobs/sample-source.js';

const all = failingAmong(60);
const isStrange = { kind: 'answer', status: 404, body: 'soon' } as const;

const correct: Readonly<Record<string, Behaviour>> = {
  'the default answers': {},
  'CRLF line ends': { style: () => ({ newline: '\r\n' }) },
  'all fields quoted': { style: () => ({ quoted: true }) },
  'a BOM at the start of parts': { style: () => ({ bom: true }) },
  'a BOM, CRLF and quotes': { style: () => ({ bom: true, newline: '\r\n', quoted: true }) },
  'columns in another order in each folio': {
    style: ({ chunk }) => ({ columns: (names) => (chunk % 2 ? [...names].reverse() : [...names].sort()) }),
  },
  'records shuffled across small parts': { results: shuffled, partRecords: 3 },
  'only the key is echoed': { results: shuffled, style: () => ({ columns: givingBack('record_id') }) },
  'parts of 7 records': { partRecords: 7 },
  'one record per part': { partRecords: 1 },
  'a failed part with a number of its own': { failedPart: 4711 },
  'FINISHED at the first poll': { finishedAtPoll: () => 1 },
  'segments listed while PROCESSING': {
    tracking: (reply, { finished, records }) =>
      finished ? reply : { ...reply, segmentation: [{ part: 0, range: `[1-${records.length}]` }] },
  },
  'parts that can be downloaded only after a while (409)': {
    trouble: firstTimes('download', 3, { ...isStrange, status: 409 }),
  },
  'parts that can be downloaded only after a while (404)': { trouble: firstTimes('download', 3, isStrange) },
  'FINISHED before all segments are listed': {
    partRecords: 3,
    tracking: (reply, { polls }) =>
      polls < 4 ? { ...reply, segmentation: reply.segmentation.slice(0, polls - 2) } : reply,
  },
  'FINISHED before the counts': {
    tracking: (reply, { polls }) => {
      const { status, ...rest } = reply.progressInfo;
      return { ...reply, progressInfo: polls < 4 ? { status } : { status, ...rest } };
    },
  },
  'meaningless ranges': {
    tracking: (reply) => ({
      ...reply,
      segmentation: reply.segmentation.map(({ part }: { part: number }) => ({ part, range: 'some' })),
    }),
  },
  'an unknown status for a while': {
    finishedAtPoll: () => 4,
    tracking: (reply, { finished }) =>
      finished ? reply : { ...reply, progressInfo: { ...reply.progressInfo, status: 'EN COLA\u001b[31m' } },
  },
  'percentages that fall and exceed 100': {
    finishedAtPoll: () => 5,
    tracking: (reply, { polls }) => ({
      ...reply,
      progressInfo: { ...reply.progressInfo, processedPercentage: [0, 90, 10, 250, -3][polls] },
    }),
  },
  'numbers as strings': {
    receipt: (reply) => ({ ...reply, totalRecords: String(reply.totalRecords) }),
    tracking: (reply) =>
      JSON.parse(JSON.stringify(reply, (_, value) => (typeof value === 'number' ? String(value) : value))),
  },
  'only the members that the client uses': {
    receipt: ({ folio }) => ({ folio }),
    tracking: ({ progressInfo, segmentation, failedInfo }) => ({
      progressInfo: {
        status: progressInfo.status,
        successfulRecords: progressInfo.successfulRecords,
        failedRecords: progressInfo.failedRecords,
      },
      segmentation: segmentation.map(({ part }: { part: number }) => ({ part })),
      failedInfo: { part: failedInfo.part },
    }),
  },
  'unknown members everywhere': {
    receipt: (reply) => ({ ...reply, price: 1, response: null }),
    tracking: (reply) => ({
      ...reply,
      response: [],
      progressInfo: { ...reply.progressInfo, mood: 'good' },
      segmentation: reply.segmentation.map((segment: object) => ({ ...segment, content: 'aGFoYQ==' })),
    }),
    trouble: () => ({
      kind: 'change',
      change: (text) => text.replace('{', '{"content":"!","x":{"content":[1,"\\u0000"]},'),
    }),
  },
};

describe('a correct service', () => {
  it.concurrent.each(Object.entries(correct))('%s', async (_, behaviour) => {
    await withJob({ behaviour }, async (job) => {
      const summary = await job.enrich();
      await expectEnriched(job);
      await expectSuccess(job, summary, all);
      expect(job.service.mostOpen).toBeLessThanOrEqual(4);
      expect(new Set(job.service.acceptedByKey('record_id').values())).toEqual(new Set([1]));
    });
  });
});

const failing = (): Answer => ({ status: 'FAILED', added: { reason: 'a day off' } });
const succeeding = (record: SentRecord): Answer =>
  predictedAnswer({ ...record, name: record.name!.replace('Failing', 'Prospering') });

describe('failed records', () => {
  it('may be all records of a run, with no part listed', async () => {
    const tracking: Behaviour['tracking'] = (reply) => ({ ...reply, segmentation: null });
    await withJob({ behaviour: { answer: failing, tracking } }, async (job) => {
      await expectSuccess(job, await job.enrich(), 60);
      await expectEnriched(job, () => enrichmentOf(failing()));
    });
  });

  it.each([
    ['null', null],
    ['absent', undefined],
    ['an empty range', { part: 0, range: '[0-0]', filename: '' }],
    ['an empty object', {}],
  ])('may be none, with failedInfo %s', async (_, failedInfo) => {
    const behaviour: Behaviour = { answer: succeeding, tracking: (reply) => ({ ...reply, failedInfo }) };
    await withJob({ behaviour }, async (job) => {
      await expectSuccess(job, await job.enrich(), 0);
      await expectEnriched(job, (row) => enrichmentOf(succeeding(sentOf(row))));
    });
  });

  it('are fetched as part 0 if failedInfo has no part', async () => {
    const tracking: Behaviour['tracking'] = ({ failedInfo, ...reply }) => reply;
    await withJob({ behaviour: { tracking } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });

  it('join several reasons in one error and leave empty ones out', async () => {
    const answer = (record: SentRecord): Answer => {
      const usual = predictedAnswer(record);
      const added = { code: 'E, 7', detail: '', hint: 'say "please"' };
      return usual.status === 'FAILED' ? { status: 'FAILED', added } : usual;
    };
    await withJob({ behaviour: { answer } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job, (row) => {
        const expected = predictedEnrichment(row);
        return expected.status === 'FAILED'
          ? { ...expected, error: 'code: E, 7; hint: say "please"' }
          : expected;
      });
    });
  });

  it('end the run with 3 and the marker _PARTIAL if they are more than tolerated', async () => {
    await withJob({ config: { concurrency: { folios: 6 } } }, async (job) => {
      const { service } = job;
      // All chunks are paid for before failures are counted, so no guard can stop anything.
      const finishedOnce = (folios: number) => {
        service.behaviour = {
          finishedAtPoll: () => (service.folios.length < folios ? Number.POSITIVE_INFINITY : 1),
        };
      };
      finishedOnce(6);
      const tolerated = await job.enrich({ failures: { tolerate: `${Math.ceil((100 * all) / 60)}%` } });
      expect(tolerated.exitCode).toBe(0);
      finishedOnce(12);
      const summary = await job.enrich({ failures: { tolerate: '1%' } }, { fresh: true });
      expect(summary).toMatchObject({ exitCode: 3, state: 'done' });
      expect(await job.manifest()).toMatchObject({ status: 'PARTIAL', exitCode: 3, complete: true });
      expect(await job.published()).toEqual([
        'enriched.csv',
        'enriched.csv._PARTIAL',
        'enriched.csv.manifest.json',
      ]);
      await expectEnriched(job);
    });
  });
});

describe('refusals', () => {
  it.each([
    [401, 'TOKEN_REFUSED'],
    [402, 'QUOTA_REFUSED'],
    [403, 'TOKEN_REFUSED'],
    [404, 'SERVICE_REFUSED'],
    [409, 'SERVICE_REFUSED'],
  ])('stops at %i of an upload, and goes on once the service is fixed', async (status, code) => {
    const trouble: Behaviour['trouble'] = ({ operation, chunk }) =>
      operation === 'upload' && chunk === 4
        ? { kind: 'answer', status, body: '{"message":"no."}' }
        : undefined;
    await withJob({ behaviour: { trouble } }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({ exitCode: 7, code, facts: { operation: 'upload', status } });
      expect((error as Error).message).toContain('no.');
      expect((error as RefusedError).hint).toBeTruthy();
      expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
      expect(job.service.seen.filter(({ chunk }) => chunk === 4).length).toBe(1);
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(new Set(job.service.acceptedByKey('record_id').values())).toEqual(new Set([1]));
    });
  });
});

describe('a slow folio', () => {
  it('holds back only the output: all others are uploaded and fetched meanwhile', async () => {
    let done = false;
    const behaviour: Behaviour = { finishedAtPoll: ({ chunk }) => (chunk === 2 && !done ? Infinity : 2) };
    await withJob({ behaviour, config: { concurrency: { folios: 3 } } }, async (job) => {
      const running = job.enrich();
      await expect
        .poll(
          () => new Set(job.service.seen.filter(({ operation }) => operation === 'download').map(chunkOf)),
          { interval: 5 },
        )
        .toEqual(new Set([1, 3, 4, 5, 6]));
      done = true;
      await expectSuccess(job, await running, all);
      await expectEnriched(job);
      expect(job.service.mostOpen).toBeLessThanOrEqual(3);
    });
  });
});

function chunkOf({ chunk }: { readonly chunk: number | null }): number | null {
  return chunk;
}
