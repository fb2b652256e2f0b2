/** Some replies come from a local service and some do not: no paid upload becomes free, and nothing is published. */
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adopt, collect, openCheckpointReader, readLedger, submit } from '../../../pipelines/index.js';
import { silentLogger } from '../../../src/logger.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { fineNames, type LocalJob, withLocalJob } from '../../helpers/jobs/local-job.js';
import { callMain } from '../../helpers/processes/call-main.js';

const names = fineNames(30);
const config = { concurrency: { uploads: 1 } };

/** Of each entry: chunk, price, and whether a local service answered. */
async function ledgerOf(job: LocalJob): Promise<(string | number | boolean | null)[][]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  const entries: (string | number | boolean | null)[][] = [];
  const terms = { timeZone: 'UTC', pricePerRecord: 1 };
  for await (const { chunk, price, rehearsal } of readLedger(reader, undefined, terms)) {
    entries.push([chunk, price, rehearsal]);
  }
  await reader.close();
  return entries;
}

async function publishedOf(job: LocalJob): Promise<string[]> {
  return (await readdir(dirname(job.output))).filter((name) => !name.endsWith('.partial'));
}

const mixed = { code: 'SERVICE_MIXED', exitCode: 6, hint: expect.stringContaining('--new') };

describe('replies of two services', () => {
  it('end the run, and each upload is priced by its own reply', async () => {
    // All uploads but the first are answered without the header of a local service.
    const rules = [
      { on: 'upload', calls: { from: 2 }, fault: { foreign: true } },
      { on: 'track', fault: { stall: '50ms' } },
    ];
    await withLocalJob({ names, config, rules }, async (job) => {
      expect(await job.failure()).toMatchObject(mixed);
      expect(await ledgerOf(job)).toEqual([
        [1, 0, true],
        [2, 10, false],
      ]);
      const status = JSON.parse((await callMain(['status', job.file, '--json'])).stdout);
      expect(status).toMatchObject({ paid: { records: 10 }, inVain: { records: 0 } });
      await job.restartService([]);
      expect(await job.failure()).toMatchObject(mixed);
      expect(await ledgerOf(job)).toHaveLength(2);
      expect(await publishedOf(job)).toEqual([]);
    });
  });

  it('are refused even if only the publication is left', async () => {
    const rules = [{ on: 'track', fault: { unknownStatus: 'QUEUED' } }];
    await withLocalJob({ names, config, rules }, async (job) => {
      await submit(job.config());
      await job.restartService([{ on: 'track', folio: 3, fault: { foreign: true } }]);
      expect(await job.failure()).toMatchObject(mixed);
      await job.restartService([]);
      // Nor does a deadline publish what is done.
      const deadline = deadlineAt({ 'after-downloaded-before-merge': 1 });
      for (const options of [deadline, {}]) {
        await expect(collect(job.config(), options)).rejects.toMatchObject(mixed);
      }
      expect(await publishedOf(job)).toEqual([]);
      expect((await job.kept()).tally.chunks.downloaded).toBe(3);
    });
  });

  it('are found in downloads, before the part is used', async () => {
    const rules = [{ on: 'download', folio: 2, fault: { foreign: true } }];
    await withLocalJob({ names, config, rules }, async (job) => {
      expect(await job.failure()).toMatchObject({ ...mixed, facts: { chunk: 2 } });
      await job.restartService([]);
      expect(await job.failure()).toMatchObject(mixed);
      expect(await publishedOf(job)).toEqual([]);
    });
  });

  it('are found in polls, and the next process remembers them', async () => {
    const rules = [{ on: 'track', folio: 2, fault: { foreign: true } }];
    await withLocalJob({ names, config, rules }, async (job) => {
      expect(await job.failure()).toMatchObject({ ...mixed, facts: { chunk: 2 } });
      await job.restartService([]);
      expect(await job.failure()).toMatchObject(mixed);
      expect(await publishedOf(job)).toEqual([]);
    });
  });

  it('leave no answer to the run that takes its place', async () => {
    const rules = [{ on: 'download', folio: 3, fault: { foreign: true } }];
    const reuse = { reuse: { maxAge: '90d' }, ...config };
    await withLocalJob({ names, config: reuse, rules }, async (job) => {
      expect(await job.failure()).toMatchObject(mixed);
      expect((await job.kept()).tally.chunks.downloaded).toBeGreaterThan(0);
      await job.restartService(
        ['upload', 'track', 'download'].map((on) => ({ on, fault: { foreign: true } })),
      );
      const warnings: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, text: string) => void warnings.push(text) };
      const summary = await job.enrich({}, { fresh: true, yes: true, logger });
      expect(summary).toMatchObject({ exitCode: 0, rehearsal: false, uploads: { accepted: 3 } });
      expect(warnings.join()).toContain('are bought again: a local service gave some of them');
    });
  });

  it('are not caused by adopting', async () => {
    const rules = [{ on: 'upload', calls: 2, fault: { cut: 'after-accepting' } }];
    const hold = { ...config, ambiguous: { policy: 'hold' } };
    await withLocalJob({ names, config: hold, rules }, async (job) => {
      const { run } = await job.enrich();
      expect(await ledgerOf(job)).toEqual([1, 2, 3].map((chunk) => [chunk, 0, true]));
      const { folio } = (await job.served())[1]!;
      await job.restartService([{ on: 'track', calls: 1, fault: { foreign: true } }]);
      const what = { run, chunk: 2, folio };
      await expect(adopt(job.config(), what)).rejects.toMatchObject({
        code: 'ADOPT_SERVICE_DIFFERS',
        exitCode: 2,
      });
      expect(await adopt(job.config(), what)).toMatchObject({ rehearsal: true });
      expect(await job.enrich()).toMatchObject({ exitCode: 0, rehearsal: true });
    });
  });
});
