/** Outages, throttling and cut connections are waited out, distinguished from refusals, and never paid twice. */
import { describe, expect, it } from 'vitest';
import { TroubleError } from '../../../pipelines/index.js';
import type { SeenRequest, Trouble, TroubleMaker } from '../../fake-service/behaviour.js';
import { firstTimes, htmlPage } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectPaidOnce,
  expectSuccess,
  failingAmong,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';

const all = failingAmong(60);

const halfAndSomeRubbish = (text: string): string => text.replace(/"content":"(.{8})/, '"content":"$1*');
const shortContent = (text: string): string => text.replace(/"content":"(.{5})[^"]*"/, '"content":"$1"');

const passing: Readonly<Record<string, TroubleMaker>> = {
  '503 with a page, three times an upload': firstTimes('upload', 3, htmlPage(503)),
  '503 with a page, three times a poll': firstTimes('track', 3, htmlPage(503)),
  '503 with a page, three times a download': firstTimes('download', 3, htmlPage(503)),
  '500, 502 and 504 for polls and downloads': ({ operation, again }) =>
    operation !== 'upload' && again <= 3 ? htmlPage([500, 502, 504][again - 1]!) : undefined,
  '429 without Retry-After': firstTimes('upload', 2, htmlPage(429)),
  '429 with Retry-After in seconds': ({ nth, operation }) =>
    operation === 'upload' && nth === 2 ? htmlPage(429, { 'retry-after': '1' }) : undefined,
  '429 with Retry-After as a date': ({ nth, operation }) =>
    operation === 'track' && nth === 2
      ? htmlPage(429, { 'retry-after': new Date(Date.now() + 1000).toUTCString() })
      : undefined,
  'polls cut before and in the reply': ({ operation, again }) =>
    operation === 'track' && again <= 2
      ? ({ kind: 'lose', share: again === 1 ? 0 : 0.5 } as const)
      : undefined,
  'polls that are not JSON, or have another shape': ({ operation, again }) =>
    operation === 'track' && again <= 3
      ? { kind: 'change', change: () => ['OK', '{"response":null}', '[]'][again - 1]! }
      : undefined,
  'downloads cut in the middle, three times each': firstTimes('download', 3, { kind: 'lose', share: 0.6 }),
  'broken base64, once': firstTimes('download', 1, { kind: 'change', change: halfAndSomeRubbish }),
  'truncated base64, once': firstTimes('download', 1, { kind: 'change', change: shortContent }),
  'a download without content once': firstTimes('download', 1, {
    kind: 'change',
    change: () => '{"response":{"filename":"x"},"message":""}',
  }),
};

describe('temporary trouble', () => {
  it.concurrent.each(Object.entries(passing))('%s', async (_, trouble) => {
    await withJob({ behaviour: { trouble } }, async (job) => {
      const summary = await job.enrich();
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expectPaidOnce(job);
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 0, resubmitted: 0 });
    });
  });

  it('of one 429 pauses every request until its Retry-After', async () => {
    let throttledAt = Number.NEGATIVE_INFINITY;
    let duringPause = 0;
    const trouble: TroubleMaker = ({ operation, nth }) => {
      if (performance.now() - throttledAt < 900) duringPause += 1;
      if (operation !== 'upload' || nth !== 3) return undefined;
      throttledAt = performance.now();
      return htmlPage(429, { 'retry-after': '1' });
    };
    const behaviour = { trouble, finishedAtPoll: () => 20 };
    await withJob({ behaviour }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      // Requests that were in flight: at most two uploads, four polls and two downloads.
      expect(duringPause).toBeLessThanOrEqual(8);
    });
  });
});

describe('an outage past retry.giveUpAfter', () => {
  const giveUp = { retry: { giveUpAfter: '100ms' } };
  const outages: Readonly<Record<string, (request: SeenRequest) => boolean>> = {
    'of uploads': ({ operation, nth }) => operation === 'upload' && nth > 3,
    'of polls': ({ operation, nth }) => operation === 'track' && nth > 5,
    'of downloads': ({ operation, nth }) => operation === 'download' && nth > 3,
    'of everything': ({ operation, nth }) => operation !== 'upload' || nth > 2,
  };

  it.concurrent.each(Object.entries(outages))(
    '%s ends with 5, and running again goes on without paying twice',
    async (_, isOut) => {
      const trouble = (request: SeenRequest): Trouble | undefined =>
        isOut(request) ? htmlPage(503) : undefined;
      await withJob({ behaviour: { trouble } }, async (job) => {
        const error = await job.failure(giveUp);
        expect(error).toBeInstanceOf(TroubleError);
        expect(error).toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE' });
        expect((error as TroubleError).hint).toContain('run the same command again');
        job.service.behaviour = {};
        await expectSuccess(job, await job.enrich(), all);
        await expectEnriched(job);
        expectPaidOnce(job);
      });
    },
  );

  it('in which no connection is accepted costs nothing', async () => {
    await withJob({}, async (job) => {
      const { url } = job.service;
      await job.service.close();
      const error = await job.failure(giveUp);
      expect(error).toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE' });
      expect(String(error)).not.toContain(job.service.token);
      expect(url).toContain('127.0.0.1');
    });
  });
});

/** The other folios are finished at the first poll, which no time-out precedes. */
describe('a folio past poll.timeout', () => {
  it('is left for the next run; the others go on, and nothing is paid again', async () => {
    const behaviour = { finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 2 ? Infinity : 1) };
    await withJob({ behaviour }, async (job) => {
      const error = await job.failure({ poll: { timeout: '300ms' } });
      expect(error).toMatchObject({ exitCode: 5, code: 'FOLIOS_TIMED_OUT', facts: { submitted: 1 } });
      const fetched = job.service.seen.filter(({ operation }) => operation === 'download');
      expect(new Set(fetched.map(({ chunk }) => chunk))).toEqual(new Set([1, 3, 4, 5, 6]));
      const before = job.service.seen.length;

      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expectPaidOnce(job);
      const after = job.service.seen.slice(before);
      expect(new Set(after.map(({ chunk }) => chunk))).toEqual(new Set([2]));
    });
  });

  it('does not block later folios', async () => {
    const behaviour = { finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 1 ? Infinity : 1) };
    await withJob({ behaviour, config: { concurrency: { folios: 2 } } }, async (job) => {
      expect(await job.failure({ poll: { timeout: '100ms' } })).toMatchObject({ code: 'FOLIOS_TIMED_OUT' });
      expect(job.service.folios.length).toBe(6);
      expect(job.service.mostOpen).toBeLessThanOrEqual(2);
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
      expectPaidOnce(job);
    });
  });

  it('keeps its permit: if all permits are taken by stuck folios, nothing more is sent', async () => {
    const behaviour = { finishedAtPoll: () => Infinity };
    await withJob({ behaviour, config: { concurrency: { folios: 2 } } }, async (job) => {
      const timedOut = { code: 'FOLIOS_TIMED_OUT', exitCode: 5 };
      expect(await job.failure({ poll: { timeout: '100ms' } })).toMatchObject(timedOut);
      expect(job.service.folios.length).toBe(2);
      job.service.behaviour = {};
      await expectSuccess(job, await job.enrich(), all);
      expectPaidOnce(job);
    });
  });
});
