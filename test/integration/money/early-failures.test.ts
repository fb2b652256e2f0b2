/** Too many failed records among the first chunks stop further uploads, and nothing else. */
import { describe, expect, it } from 'vitest';
import { GuardError, submit } from '../../../pipelines/index.js';
import { withJob } from '../../helpers/jobs/fake-service-job.js';
import { failingName, fineNames, type LocalJob, withLocalJob } from '../../helpers/jobs/local-job.js';

/** One chunk after the other, so that each is counted before the next is sent. */
const single = { uploads: 1, folios: 1, downloads: 1 };
const strict = { failures: { tolerate: '5%' }, concurrency: single };

/** Good names, except that the service fails these record numbers. */
function failing(count: number, ...numbers: readonly number[]): string[] {
  return fineNames(count).map((name, at) => (numbers.includes(at + 1) ? failingName(at + 1) : name));
}

async function expectEachPaidOnce(job: LocalJob, records: number): Promise<void> {
  const paid = await job.timesPaid();
  expect([...paid.values()]).toEqual(Array.from({ length: records }, () => 1));
}

describe('a failure rate that is not tolerated', () => {
  it('stops the uploads; the same command stops at once, and a higher tolerance goes on', async () => {
    const names = failing(40, 3, 8);
    await withLocalJob({ names, config: strict }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(GuardError);
      expect(error).toMatchObject({
        exitCode: 9,
        code: 'FAILURE_RATE',
        message: expect.stringContaining('2 of 10 records failed (20%), and failures.tolerate is 5%'),
        hint: expect.stringContaining('foliopipe run --set failures.tolerate=20% goes on with run '),
      });
      expect((await job.kept()).tally.chunks).toMatchObject({ downloaded: 1, submitted: 0 });
      expect(await job.served()).toHaveLength(1);

      expect(await job.failure()).toMatchObject({ code: 'FAILURE_RATE' });
      expect(await job.served()).toHaveLength(1);

      const summary = await job.enrich({ failures: { tolerate: '20%' } });
      expect(summary).toMatchObject({ exitCode: 0, counts: { successful: 38, failed: 2 } });
      await expectEachPaidOnce(job, 40);
    });
  });

  it('still collects and keeps the chunks in flight', async () => {
    const config = { ...strict, concurrency: { uploads: 3, folios: 3, downloads: 1 } };
    await withLocalJob({ names: failing(80, 2, 3, 14, 25), config }, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'FAILURE_RATE' });
      const { tally } = await job.kept();
      const served = await job.served();
      expect(served.length).toBeLessThan(8);
      expect(tally.chunks).toMatchObject({ downloaded: served.length, submitted: 0, ambiguous: 0 });
    });
  });

  it('stops submit as well', async () => {
    await withLocalJob({ names: failing(30, 1), config: strict }, async (job) => {
      await expect(submit(job.config())).rejects.toMatchObject({ code: 'FAILURE_RATE', exitCode: 9 });
      expect(await job.served()).toHaveLength(1);
    });
  });

  it('stops nothing once everything is uploaded: exit 3 at the end', async () => {
    const config = { failures: { tolerate: 0 }, concurrency: { folios: 6 } };
    await withJob({ config }, async (job) => {
      const { service } = job;
      service.behaviour = {
        finishedAtPoll: () => (service.folios.length < 6 ? Number.POSITIVE_INFINITY : 1),
      };
      expect(await job.enrich()).toMatchObject({ exitCode: 3, uploads: { accepted: 6 } });
    });
  });
});

describe('a failure rate that is tolerated', () => {
  it('among the first three chunks lets all others be sent, whatever fails later', async () => {
    const bad = Array.from({ length: 10 }, (_, at) => 31 + at);
    await withLocalJob(
      { names: failing(50, 4, ...bad), config: { ...strict, failures: { tolerate: '10%' } } },
      async (job) => {
        expect(await job.enrich()).toMatchObject({
          exitCode: 3,
          counts: { failed: 11 },
          uploads: { accepted: 5 },
        });
      },
    );
  });

  it('does not count the records that the service refused', async () => {
    const names = failing(60, 15).map((name, at) => (at === 13 ? 'Very Bad' : name));
    const rules = [{ on: 'upload', contains: 'Very Bad', fault: { status: 422 } }];
    const tolerant = { ...strict, failures: { tolerate: '10%' } };
    await withLocalJob({ names, rules, config: tolerant }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { failed: 2 } });
      const codes = (await job.rows()).map(({ prediction_error_code }) => prediction_error_code);
      expect(codes.slice(13, 15)).toEqual(['RECORD_REFUSED', 'SERVICE_FAILED']);
    });
  });
});
