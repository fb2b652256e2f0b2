/** Uploads whose reply is unreadable or a redirect: none is paid twice automatically, and all can be adopted. */
import { describe, expect, it } from 'vitest';
import { adopt, collect } from '../../../pipelines/index.js';
import type { Trouble, TroubleMaker } from '../../fake-service/behaviour.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import { failing, failingSetup } from '../../helpers/jobs/failing-job.js';
import {
  expectEnriched,
  expectSuccess,
  expectUntrusted,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { withLocalJob } from '../../helpers/jobs/local-job.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';

const everyUpload =
  (trouble: Trouble): TroubleMaker =>
  ({ operation }) =>
    operation === 'upload' ? trouble : undefined;

const changed = (change: (text: string) => string): Trouble => ({ kind: 'change', change });

const unreadable: Readonly<Record<string, Trouble>> = {
  'an HTML page': changed(() => '<html>OK</html>'),
  'an empty body': changed(() => ''),
  'no folio': changed((text) => text.replace(/"folio":"\w+",/, '')),
  'truncated JSON with a matching length': changed((text) => text.slice(0, text.length / 2)),
};

/** Adopts the folios that the service accepted for the chunks. */
async function adoptAll(job: Job, run: string, ...chunks: number[]): Promise<void> {
  for (const chunk of chunks) {
    const folio = job.service.folios.find((one) => one.chunk === chunk)!.id;
    await adopt(job.config(), { run, chunk, folio });
  }
}

const timesAccepted = (job: Job) => [...job.service.acceptedByChunk().values()];

describe('a reply to an upload that cannot be read', () => {
  it.concurrent.each(Object.entries(unreadable))(
    'is not sent again automatically: %s',
    async (_, trouble) => {
      await withJob({ behaviour: { trouble: firstUploadOf([2, 5], trouble) } }, async (job) => {
        const summary = await job.enrich();
        expect(summary).toMatchObject({
          exitCode: 3,
          counts: { read: 60, unprocessed: 20 },
          uploads: { accepted: 4, ambiguous: 2, resubmitted: 0 },
          ambiguousRecords: 20,
          adoptable: [{ chunk: 2 }, { chunk: 5 }],
        });
        expect(timesAccepted(job)).toEqual([1, 1, 1, 1, 1, 1]);
        const error = 'the upload may or may not have been accepted and was not sent again';
        const held = { status: 'UNPROCESSED', code: 'AMBIGUOUS_HELD', error, added: {} } as const;
        await expectEnriched(job, (row, number) =>
          [2, 5].includes(Math.ceil(number / 10)) ? held : predictedEnrichment(row),
        );

        await adoptAll(job, summary.run, 2, 5);
        await expectSuccess(job, await job.enrich(), failingAmong(60));
        await expectEnriched(job);
        expect(job.service.count('upload')).toBe(6);
      });
    },
  );

  it('ends every run with 6, and ten runs pay for no record twice', async () => {
    const trouble = everyUpload(unreadable['an HTML page']!);
    await withJob({ behaviour: { trouble } }, async (job) => {
      const sent: number[] = [];
      for (let time = 1; time <= 10; time++) {
        const error = await expectUntrusted(job, 'RECEIPTS_UNREADABLE');
        expect(error.hint).toMatch(
          /if the service lists the file \S+\.csv, bind it: foliopipe adopt --run \S+ --chunk \d FOLIO/,
        );
        if (time < 4) expect(error.message).toContain('<html>OK</html>');
        sent.push(job.service.count('upload'));
        expect(error.hint).toMatch(
          /\nto publish without them.*: foliopipe run --set ambiguous\.policy=hold;\n/,
        );
        for (const line of error.hint!.split('\n')) expect(line.length).toBeLessThan(200);
        expect(error.hint).toContain(
          `and ${sent.at(-1)! - 3} more: foliopipe status`.replace(/^and 0 .*/, ''),
        );
        expect(/at most one chunk more/.test(error.hint!)).toBe(sent.at(-1)! < 6);
      }
      // Two were in flight and a third was sent alone; each later process sends one upload as a test.
      expect(sent).toEqual([3, 4, 5, 6, 6, 6, 6, 6, 6, 6]);
      expect(timesAccepted(job)).toEqual([1, 1, 1, 1, 1, 1]);

      job.service.behaviour = {};
      const { facts } = await expectUntrusted(job, 'RECEIPTS_UNREADABLE');
      await adoptAll(job, String(facts.run), 1, 2, 3, 4, 5, 6);
      await expectSuccess(job, await job.enrich(), failingAmong(60));
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is UNPROCESSED and published under the policy hold, even if other uploads were accepted', async () => {
    const trouble = everyUpload(unreadable['an HTML page']!);
    await withJob({ behaviour: { trouble } }, async (job) => {
      for (let time = 1; time <= 4; time++) await expectUntrusted(job, 'RECEIPTS_UNREADABLE');
      const untold = await collect(job.config()).catch((error: unknown) => error);
      expect(untold).toMatchObject({
        code: 'CHUNKS_AMBIGUOUS',
        hint: expect.stringMatching(
          /is not sent again.*and 3 more: foliopipe status.*ambiguous\.policy=hold/s,
        ),
      });
      const summary = await job.enrich({ ambiguous: { policy: 'hold' } });
      expect(summary).toMatchObject({ state: 'done', exitCode: 3, counts: { read: 60, unprocessed: 60 } });
      expect(timesAccepted(job)).toEqual([1, 1, 1, 1, 1, 1]);

      job.service.behaviour = {};
      await adoptAll(job, summary.run, 1, 2, 3, 4, 5, 6);
      await expectSuccess(job, await job.enrich(), failingAmong(60));
      await expectEnriched(job);
    });
  });

  it('is UNPROCESSED at once under the policy hold if it was the only upload', async () => {
    const trouble = everyUpload(unreadable['an HTML page']!);
    const config = { chunks: { maxRecords: 20 }, ambiguous: { policy: 'hold' } };
    await withJob({ behaviour: { trouble }, config }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 3, counts: { unprocessed: 60 } });
      expect(job.service.count('upload')).toBe(3);
    });
  });

  it('stops the uploads after three in a row; accepted folios are collected, and a readable reply goes on', async () => {
    const trouble = firstUploadOf([2, 3, 4], unreadable['an HTML page']!);
    const config = { concurrency: { uploads: 1 } };
    await withJob({ behaviour: { trouble }, config }, async (job) => {
      await expectUntrusted(job, 'RECEIPTS_UNREADABLE');
      expect(job.service.count('upload')).toBe(4);
      expect(job.service.count('download')).toBeGreaterThan(0);
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 3, uploads: { accepted: 3, ambiguous: 3, resubmitted: 0 } });
      expect(timesAccepted(job)).toEqual([1, 1, 1, 1, 1, 1]);
    });
  });

  it('is not sent again in a round of failed records, either', async () => {
    const round = { on: 'upload', calls: { from: 4 }, fault: { html: true } };
    const failures = { tolerate: '100%', rounds: 2 };
    const setup = failingSetup([failing('100%', 3), round], { failures, chunks: { maxRecords: 10 } });
    await withLocalJob(setup, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'RECEIPTS_UNREADABLE', exitCode: 6 });
      // The source is sent by then. The round is given up: its records keep their older answer and are in no later round.
      for (let time = 1; time <= 3; time++) {
        expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { failed: 30 } });
      }
      expect(new Set((await job.timesPaid()).values())).toEqual(new Set([2]));
    });
  });
});

describe('an upload that is answered with a redirect', () => {
  it('ends the run at once with 7; an accepted upload is in the ledger and can be adopted', async () => {
    const trouble = everyUpload({ kind: 'redirect', status: 303, location: '/naics/uploads/7' });
    await withJob({ behaviour: { trouble }, config: { concurrency: { uploads: 1 } } }, async (job) => {
      const error = await job.failure();
      expect(error).toMatchObject({
        code: 'SERVICE_REDIRECTS',
        exitCode: 7,
        message: expect.stringContaining('chunk 1: '),
        hint: expect.stringMatching(
          /service\.baseUrl and start a new run with foliopipe run --new --yes, which pays again; if the service lists the file \S+-1-1-\w+\.csv, bind it: foliopipe adopt/,
        ),
      });
      expect(job.service.count('upload')).toBe(1);
      expect(job.service.seen).toHaveLength(1);
      // Another redirect stops the run at once, too.
      expect(await job.failure()).toMatchObject({
        exitCode: 7,
        message: expect.stringContaining('chunk 2: '),
      });
      expect(job.service.count('upload')).toBe(2);

      job.service.behaviour = {};
      const [, run] = /--run (\S+)/.exec((error as { hint: string }).hint)!;
      await adoptAll(job, run!, 1, 2);
      const summary = await job.enrich();
      await expectSuccess(job, summary, failingAmong(60));
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 0, resubmitted: 0 });
      expect(timesAccepted(job)).toEqual([1, 1, 1, 1, 1, 1]);
    });
  });

  it('is sent again as the last chunk if the policy allows it, and is counted', async () => {
    const trouble = firstUploadOf([1], { kind: 'answer', status: 307, headers: { location: '/' } });
    await withJob({ behaviour: { trouble }, config: { concurrency: { uploads: 1 } } }, async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 7 });
      const summary = await job.enrich();
      await expectSuccess(job, summary, failingAmong(60));
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 1, resubmitted: 1 });
      const order = job.service.seen.filter(({ operation }) => operation === 'upload');
      expect(order.map(({ chunk }) => chunk)).toEqual([1, 2, 3, 4, 5, 6, 1]);
    });
  });
});
