/** Records that are blank in all sent columns are not sent: they are FAILED, and free, wherever a run is stopped. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Failpoint, planRun, publish, recover, retry } from '../../../pipelines/index.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { expectEnriched, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, stopAt } from '../../helpers/jobs/interrupted-job.js';
import {
  expectBalance,
  type Line,
  line,
  sampleLines,
  textOf,
  withNights,
} from '../../helpers/jobs/nights.js';
import { killAt, loseCheckpoint } from '../../helpers/state/killed-state.js';

/** A record whose sent fields hold nothing but white space, each in another way. */
function blank(at: number): Line {
  const [name, address, state] = [
    ['', '', ''],
    ['""', ' ', '\t'],
    ['"  "', '"\n"', '\u00a0'],
    ['\u3000', '', '""'],
  ][at % 4]!;
  const [{ record, raw }] = [line('x')];
  const fields = [`blank ${at}`, name, address, state, 'a note'];
  const unquoted = (text = '') => text.replaceAll('"', '');
  return {
    record: { ...record, Business: unquoted(name), Address: unquoted(address), State: unquoted(state) },
    raw: raw === '' ? '' : fields.join(','),
  };
}

const blanks = (count: number) => Array.from({ length: count }, (_, at) => blank(at));
const shops = (count: number) => Array.from({ length: count }, (_, at) => line(`Shop ${at}`));
/** Blank records before, between and behind 60 others: alone, in rows, and more than fit into a chunk. */
const good = sampleLines(60);
const mixed = [
  ...blanks(3),
  ...good.slice(0, 10),
  ...blanks(1),
  ...good.slice(10, 14),
  ...blanks(25),
  ...good.slice(14, 41),
  ...blanks(2),
  ...good.slice(41),
  ...blanks(13),
];
const SKIPPED = 44;
const all = { source: { maxRejected: '100%' } };

async function expectAllEnriched(job: Job, summary: Awaited<ReturnType<Job['enrich']>>): Promise<void> {
  expect(summary).toMatchObject({ state: 'done', exitCode: 0, counts: { read: 104, unprocessed: 0 } });
  expect(summary.origins.skipped).toEqual({
    records: SKIPPED,
    successful: 0,
    failed: SKIPPED,
    unprocessed: 0,
  });
  expectBalance(summary);
  await expectEnriched(job);
  const manifest = await job.manifest();
  expect(manifest).toMatchObject({ counts: summary.counts, origins: summary.origins });
  const sent = manifest.chunks.reduce(
    (sum, chunk) => sum + Number(chunk.successful) + Number(chunk.failed),
    0,
  );
  expect(sent).toBe(60);
}

/** The numbers of the records that the service has accepted, in the order of the source. */
function paid(job: Job): number[] {
  const keys = job.service.folios.flatMap(({ records }) => records.map(({ record_id }) => Number(record_id)));
  return keys.sort((a, b) => a - b);
}

const numbersSent = mixed.flatMap(({ raw }, at) => (raw.startsWith('blank') ? [] : [at + 1]));

describe('blank records', () => {
  const files = { 'source.csv': textOf(mixed) };

  it('are FAILED in the output, in their place, and nothing of them is paid', async () => {
    await withJob(
      { behaviour, files, config: { ...all, budget: { pricePerRecord: 0.5, perRun: 60 } } },
      async (job) => {
        const plan = await planRun(job.config(), { signal: new AbortController().signal });
        expect(plan).toMatchObject({
          source: { records: 104, blank: SKIPPED },
          chunks: { count: 6, records: 60 },
        });
        expect(plan.cost).toEqual({ amount: 30, currency: 'USD' });
        const summary = await job.enrich();
        await expectAllEnriched(job, summary);
        expect(summary.uploads.accepted).toBe(6);
        expect(paid(job)).toEqual(numbersSent);
        expect(summary.saved.records).toBe(0);
        // Written again from what was bought, the output has the same bytes.
        const output = await job.output();
        await rm(job.outputPath);
        await publish(job.config(), summary.run);
        expect(await job.output()).toBe(output);
        expect(paid(job)).toHaveLength(60);
      },
    );
  });

  it.each([
    ['without the key column', { upload: { keyColumn: null } }],
    ['with a canary', { chunks: { canary: 3 } }],
    ['with equal records sent once', { upload: { duplicates: 'once' } }],
    ['with reuse', { reuse: { maxAge: '90d' } }],
    ['with lineage and a delta', { output: { lineage: true } }],
    ['in chunks of one record', { chunks: { maxRecords: 1 } }],
  ])('%s', async (_, config) => {
    await withJob({ files, config: { ...all, ...config } }, async (job) => {
      const summary = await job.enrich();
      expectBalance(summary);
      expect(summary.origins.skipped.records).toBe(SKIPPED);
      expect(job.service.folios.flatMap(({ records }) => records)).toHaveLength(summary.origins.sent.records);
      if (!('output' in config)) await expectEnriched(job);
    });
  });

  const moments: readonly (readonly [Failpoint, number])[] = [
    ['after-cut-before-chunk-file', 2],
    ['after-cut-before-intent', 3],
    ['after-downloaded-before-merge', 2],
    ['after-work-write-before-commit', 1],
    ['after-merged-before-next', 2],
    ['after-last-merge-before-publishing', 1],
  ];

  it.each(moments)(
    'in a run that was stopped at %s, time %i, are the same after it went on',
    async (point, nth) => {
      for (const reuse of [{}, { reuse: { maxAge: '90d' } }]) {
        await withJob({ behaviour, files, config: { ...all, ...reuse } }, async (job) => {
          await job.failure({}, stopAt(point, nth));
          const summary = await job.enrich();
          await expectAllEnriched(job, summary);
          expect(paid(job)).toEqual(numbersSent);
        });
      }
    },
  );

  it.each([
    ['after-downloaded-before-merge', 3],
    ['after-merged-before-next', 3],
  ] as const)(
    'are known after kill -9 at %s, time %i, and after the checkpoint was lost',
    async (point, nth) => {
      for (const lose of [async () => undefined, loseCheckpoint]) {
        await withJob(
          { behaviour, files, config: { ...all, concurrency: { uploads: 6, folios: 6 } } },
          async (job) => {
            await killAt(job, point, nth);
            await lose(job);
            if (lose === loseCheckpoint) await recover(job.config());
            await expectAllEnriched(job, await job.enrich());
            expect(new Set(paid(job))).toEqual(new Set(numbersSent));
          },
        );
      }
    },
  );

  it('are written at a deadline, too, and not again as UNPROCESSED', async () => {
    const slow = {
      ...behaviour,
      finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk > 2 ? Infinity : 1),
    };
    await withJob({ behaviour: slow, files, config: all }, async (job) => {
      const summary = await job.enrich({}, deadlineAt({ 'after-downloaded-before-merge': 2 }));
      expect(summary.origins.skipped.records).toBe(SKIPPED);
      expect(summary.counts.unprocessed).toBeGreaterThan(0);
      expectBalance(summary);
      const rows = await job.output();
      expect(rows.match(/,FAILED,NOTHING_TO_SEND,/g)).toHaveLength(SKIPPED);
      expect(rows.match(/,UNPROCESSED,DEADLINE,/g)).toHaveLength(summary.counts.unprocessed);
      job.service.behaviour = behaviour;
      await expectAllEnriched(job, await job.enrich());
    });
  });

  it('are not sent by rounds, by retry or after a refused chunk was split', async () => {
    const refused = { trouble: firstUploadOf([2], { kind: 'answer', status: 400, body: '{}' }) };
    await withJob({ behaviour: refused, files, config: { ...all, failures: { rounds: 1 } } }, async (job) => {
      const summary = await job.enrich();
      await expectAllEnriched(job, summary);
      await retry(job.config(), summary.run);
      const isSent = new Set(numbersSent);
      expect(paid(job).filter((number) => !isSent.has(number))).toEqual([]);
      await expectEnriched(job);
    });
  });

  it('that are all there is are published without an upload', async () => {
    for (const reuse of [{}, { reuse: { maxAge: '90d' } }]) {
      const config = { ...all, ...reuse, failures: { tolerate: 0 } };
      await withJob({ files: { 'source.csv': textOf(blanks(25_000)) }, config }, async (job) => {
        const summary = await job.enrich();
        expect(summary).toMatchObject({ exitCode: 0, counts: { read: 25_000, failed: 25_000 } });
        expect(job.service.seen).toEqual([]);
        expect(await job.published()).toContain('enriched.csv._SUCCESS');
        expect((await job.output()).match(/,FAILED,NOTHING_TO_SEND,/g)).toHaveLength(25_000);
      });
    }
  });

  it('are sent with upload.skipBlank: false', async () => {
    const config = { upload: { skipBlank: false } };
    await withJob({ files: { 'source.csv': textOf([...shops(3), blank(1)]) }, config }, async (job) => {
      const summary = await job.enrich();
      expect(summary).toMatchObject({
        exitCode: 0,
        origins: { sent: { records: 4 }, skipped: { records: 0 } },
      });
      expect(paid(job)).toEqual([1, 2, 3, 4]);
    });
  });

  it('do not count as failed records that are tolerated or not', async () => {
    const lines = [...shops(19), line('Failing Co'), ...blanks(20)];
    const config = { ...all, failures: { tolerate: '5%' } };
    await withJob({ files: { 'source.csv': textOf(lines) }, config }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { failed: 21 } });
      await writeFile(job.sourcePath, textOf([...lines.slice(1)]));
      expect(await job.enrich()).toMatchObject({ exitCode: 3, counts: { failed: 21 } });
      const withhold = { failures: { tolerate: '5%', onExceeded: 'withhold' } };
      await writeFile(job.sourcePath, textOf([...lines, blank(1)]));
      expect(await job.enrich(withhold)).toMatchObject({ state: 'done', exitCode: 0 });
      await writeFile(job.sourcePath, textOf([...lines.slice(1), blank(1)]));
      expect(await job.enrich(withhold)).toMatchObject({
        state: 'withheld',
        exitCode: 9,
        counts: { failed: 22 },
      });
      expect(await job.enrich({ failures: { tolerate: '5.3%', onExceeded: 'withhold' } })).toMatchObject({
        state: 'done',
        exitCode: 0,
      });
    });
  });

  it('and bad ones in a chunk do not keep its answers from later nights', async () => {
    const bad = { record: {}, raw: 'too,few' };
    const [one, two] = [shops(20).slice(0, 5), shops(40).slice(20)];
    const nights = {
      'a.csv': textOf([...one.slice(0, 3), blank(1), ...one.slice(3), bad]),
      'b.csv': textOf([...two.slice(0, 3), bad, ...two.slice(3)]),
      'c.csv': textOf([blank(2), ...one, ...two, line('New')]),
    };
    await withJob({ files: nights, config: all }, async (job) => {
      for (const name of ['a.csv', 'b.csv']) await job.enrich({ source: { path: name } });
      const before = job.service.folios.length;
      const summary = await job.enrich({ source: { path: 'c.csv' }, reuse: { maxAge: '90d' } });
      expect(summary.origins).toMatchObject({
        sent: { records: 1 },
        reused: { records: 25 },
        skipped: { records: 1 },
      });
      expect(job.service.folios.slice(before).map(({ records }) => records[0]!.name)).toEqual(['New']);
    });
  });

  it('of a run that an earlier version has begun are still sent', async () => {
    const source = textOf([...blanks(2), ...shops(30)]);
    await withJob({ behaviour, files: { 'source.csv': source } }, async (job) => {
      await job.failure({ upload: { skipBlank: false } }, stopAt('after-accepted-before-poll', 2));
      const database = openSqlite(join(job.config().stateDir, 'checkpoint.db'));
      database.exec(`UPDATE runs SET frozen = json_remove(frozen, '$."upload.skipBlank"')`);
      database.close();
      // Touched, so that it is read again.
      await writeFile(job.sourcePath, source);
      const summary = await job.enrich();
      expect(summary).toMatchObject({
        found: 'continued',
        exitCode: 0,
        origins: { skipped: { records: 0 } },
      });
      expect(paid(job)).toEqual(Array.from({ length: 32 }, (_, at) => at + 1));
      // It is done, whatever the check would say of its source today.
      expect(await job.enrich()).toMatchObject({ found: 'done', run: summary.run });
      await rm(job.outputPath);
      expect(await job.enrich()).toMatchObject({ found: 'done', exitCode: 0 });
      expect(paid(job)).toHaveLength(32);
    });
  });

  it('stay what they are from night to night', async () => {
    await withNights({ config: { ...all, output: { drift: true } } }, async (nights) => {
      const first = await nights.night([...shops(20), ...blanks(5)]);
      expect(first.origins).toMatchObject({ sent: { records: 20 }, skipped: { records: 5 } });
      const next = await nights.night([...blanks(7), ...shops(21)]);
      expect(next.bought).toEqual(['Shop 20']);
      expect(next.origins).toMatchObject({
        sent: { records: 1 },
        reused: { records: 20 },
        skipped: { records: 7, failed: 7 },
      });
      expectBalance(next);
      await expectEnriched(nights);
    });
  });
});
