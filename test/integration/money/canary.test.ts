/** The canary: the first records are sent alone, and the rest only after their results passed the check. */
import { appendFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, GuardError, planRun, submit, UntrustedError } from '../../../pipelines/index.js';
import { givingBack } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { failingName, fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';

const config = { chunks: { canary: 5 } };

/** Uploads before the canary was downloaded. */
function uploadsBeforeResults({ service }: Job): number {
  const fetched = service.seen.findLastIndex(
    ({ operation, chunk }) => operation === 'download' && chunk === 1,
  );
  return service.seen.slice(0, fetched).filter(({ operation }) => operation === 'upload').length;
}

describe('a canary', () => {
  it('is sent alone, and the others follow after its results', async () => {
    await withJob({ config }, async (job) => {
      const signal = new AbortController().signal;
      expect((await planRun(job.config(), { signal })).chunks).toMatchObject({ count: 7, records: 60 });
      const summary = await job.enrich();
      expect(uploadsBeforeResults(job)).toBe(1);
      expect(job.service.folios.map(({ records }) => records.length).sort((a, b) => a - b)).toEqual([
        5, 5, 10, 10, 10, 10, 10,
      ]);
      await expectSuccess(job, summary, failingAmong(60));
      await expectEnriched(job);
    });
  });

  it.each(['after-cut-before-intent', 'after-accepted-before-poll', 'after-part-before-downloaded'] as const)(
    'interrupted %s is still alone when it goes on',
    async (point) => {
      await withJob({ config }, async (job) => {
        await interrupt(job, stopAt(point, 1));
        await job.enrich();
        expect(uploadsBeforeResults(job)).toBe(1);
        expect(job.service.folios).toHaveLength(7);
        await expectEnriched(job);
      });
    },
  );

  it('that has passed is not checked again, whatever happens to it later', async () => {
    await withJob({ config }, async (job) => {
      await interrupt(job, stopAt('after-cut-before-intent', 2));
      const { stateDir } = job.config();
      for (const file of await readdir(stateDir, { recursive: true })) {
        if (file.includes('part-000001')) await rm(path.join(stateDir, file));
      }
      job.service.forget(job.service.folios[0]!);
      // The columns change, so the rows of the canary are written again, too.
      const result = { columns: ['naics_code'], onChange: 'ignore' };
      expect(await job.enrich({ result })).toMatchObject({ exitCode: 3, counts: { unprocessed: 5 } });
    });
  });

  it('that is too large is halved, and nothing else is sent until both halves have passed', async () => {
    const rules = [{ on: 'upload', records: { from: 4 }, fault: { status: 413 } }];
    await withLocalJob({ names: fineNames(12), rules, config: { chunks: { canary: 6 } } }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 0 });
      const { chunks } = await job.kept();
      expect(chunks.map(({ records, state }) => `${records} ${state}`)).toEqual([
        '6 split',
        '3 downloaded',
        '3 downloaded',
        '6 split',
        '3 downloaded',
        '3 downloaded',
      ]);
    });
  });

  it('that holds the whole source is an ordinary chunk', async () => {
    await withJob(
      { config: { chunks: { canary: 60, maxRecords: 100 }, failures: { tolerate: 0 } } },
      async (job) => {
        expect(await job.enrich()).toMatchObject({ exitCode: 3, uploads: { accepted: 1 } });
      },
    );
  });

  it('is sent by submit, which waits for it', async () => {
    await withJob({ config }, async (job) => {
      await submit(job.config());
      expect(uploadsBeforeResults(job)).toBe(1);
      expect(job.service.folios).toHaveLength(7);
      expect(await collect(job.config())).toMatchObject({ state: 'done' });
    });
  });

  it('auto is used for the first run of a pipeline and for a source with another header', async () => {
    const automatic = { chunks: { canary: 'auto', maxRecords: 1000 } };
    await withLocalJob({ names: fineNames(230), config: automatic }, async (job) => {
      const canaryOf = async () => {
        await job.enrich();
        return (await job.kept()).run.canary;
      };
      expect(await canaryOf()).toBe(200);
      expect((await job.kept()).chunks.map(({ records }) => records)).toEqual([200, 30]);
      await appendFile(job.source, '"Fine too",,\n');
      expect(await canaryOf()).toBe(0);
    });
  });
});

describe('a canary that does not pass', () => {
  it('because of its failures stops every run until failures.tolerate is raised', async () => {
    const names = fineNames(40).map((name, at) => (at === 1 || at === 3 ? failingName(at) : name));
    const strict = { chunks: { canary: 5 }, failures: { tolerate: '5%' } };
    await withLocalJob({ names, config: strict }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(GuardError);
      expect(error).toMatchObject({
        exitCode: 9,
        code: 'CANARY_FAILED',
        message: expect.stringMatching(
          /2 of 5 records failed \(40%\), and failures.tolerate is 5%; reasons: "no industry matches the name" \(2\)$/,
        ),
        hint: expect.stringContaining('foliopipe run --set failures.tolerate=40% goes on with run '),
      });
      expect(await job.failure()).toMatchObject({ code: 'CANARY_FAILED' });
      expect(await job.served()).toHaveLength(1);

      expect(await job.enrich({ failures: { tolerate: '40%' } })).toMatchObject({
        exitCode: 0,
        counts: { successful: 38, failed: 2 },
      });
      expect([...(await job.timesPaid()).values()]).toEqual(Array.from({ length: 40 }, () => 1));
    });
  });

  it('because its results cannot be joined, ends with exit 6', async () => {
    await withJob({ config, behaviour: { style: () => ({ columns: givingBack() }) } }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(UntrustedError);
      expect(error).toMatchObject({ exitCode: 6, code: 'JOIN_IMPOSSIBLE' });
      expect(job.service.folios).toHaveLength(1);
    });
  });

  it('because it lacks the declared columns, ends with exit 6', async () => {
    const declared = { ...config, result: { columns: ['naics_code', 'sic_code'] } };
    await withJob({ config: declared }, async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 6, code: 'COLUMNS_CHANGED' });
      expect(job.service.folios).toHaveLength(1);
    });
  });

  it('because the service has forgotten it, ends with exit 9', async () => {
    await withJob({ config }, async (job) => {
      job.service.behaviour = {
        trouble: ({ operation }) =>
          operation === 'track'
            ? { kind: 'answer', status: 404, body: '{"message":"no such folio"}' }
            : undefined,
      };
      for (let times = 0; times < 2; times++) {
        expect(await job.failure()).toMatchObject({
          exitCode: 9,
          code: 'CANARY_UNANSWERED',
          message: expect.stringContaining('FOLIO_LOST'),
          hint: expect.stringContaining('start a new run, which pays again: foliopipe run --new --yes;'),
        });
      }
      expect(job.service.folios).toHaveLength(1);
    });
  });

  it('because its upload is ambiguous, names the file to look for', async () => {
    const held = { ...config, ambiguous: { policy: 'hold' } };
    const trouble = { kind: 'lose', share: 0 } as const;
    await withJob(
      {
        config: held,
        behaviour: { trouble: ({ operation }) => (operation === 'upload' ? trouble : undefined) },
      },
      async (job) => {
        expect(await job.failure()).toMatchObject({
          exitCode: 9,
          code: 'CANARY_UNANSWERED',
          hint: expect.stringMatching(/foliopipe adopt --run \S+ --chunk 1 FOLIO/),
        });
        expect(job.service.folios).toHaveLength(1);
      },
    );
  });

  it('because it is not FINISHED in time, ends with exit 5 and no other upload', async () => {
    const slow = { ...config, poll: { timeout: '30ms' } };
    await withJob(
      { config: slow, behaviour: { finishedAtPoll: () => Number.POSITIVE_INFINITY } },
      async (job) => {
        expect(await job.failure()).toMatchObject({ exitCode: 5, code: 'FOLIOS_TIMED_OUT' });
        expect(job.service.folios).toHaveLength(1);
      },
    );
  });
});
