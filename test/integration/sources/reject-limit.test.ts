/** `source.maxRejected`: decides whether a run begins, before anything is paid, and not which records are sent. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planRun } from '../../../pipelines/index.js';
import { expectEnriched, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { line, textOf } from '../../helpers/jobs/nights.js';
import { callMain } from '../../helpers/processes/call-main.js';

const shops = (count: number) => Array.from({ length: count }, (_, at) => line(`Shop ${at}`));
const good = textOf(shops(30));
const withBad = `${good}too,few\nand,fewer\n`;
const withBlank = `${good},,,,blank\n`;
const limit = (maxRejected: number | string) => ({ source: { maxRejected } });

async function expectNothingSent(job: Job): Promise<void> {
  expect(job.service.seen).toEqual([]);
  expect(await job.published()).toEqual([]);
}

const plan = (job: Job, changes = {}) =>
  planRun(job.config(changes), { signal: new AbortController().signal });

describe('a source', () => {
  it('of which 999 of 1,000 records are bad is no success', async () => {
    const bad = `${textOf(shops(1))}${'too,few\n'.repeat(999)}`;
    await withJob({ files: { 'source.csv': bad } }, async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 4, code: 'SOURCE_FIELD_COUNT' });
      expect(await job.failure(limit('99.8%'))).toMatchObject({
        exitCode: 4,
        code: 'SOURCE_TOO_MANY_REJECTED',
        facts: { records: 1000, rejected: 999 },
      });
      await expectNothingSent(job);
      expect(await job.enrich(limit(999))).toMatchObject({
        exitCode: 0,
        counts: { rejected: 999, successful: 1 },
      });
    });
  });

  it('whose columns are mapped wrongly, so that all records are blank, is no success', async () => {
    const empty = textOf(Array.from({ length: 40 }, (_, at) => line('', '', '', `note ${at}`)));
    await withJob({ files: { 'source.csv': empty } }, async (job) => {
      for (const found of [await job.failure(), await plan(job).catch((error: unknown) => error)]) {
        expect(found).toMatchObject({
          exitCode: 4,
          code: 'SOURCE_NOTHING_TO_SEND',
          message: expect.stringMatching(
            /^40 of 40 records .* blank in all sent columns \("Business", "Address", "State"\), .*: record 1 \(line 2\), /,
          ),
          hint: expect.stringMatching(
            /upload\.columns.*--set source\.maxRejected=40 .*upload\.skipBlank: false/s,
          ),
        });
      }
      await expectNothingSent(job);
    });
  });

  it('within the limit is planned and enriched', async () => {
    await withJob({ files: { 'source.csv': `${withBad},,,,blank\n` }, config: limit('10%') }, async (job) => {
      expect(await plan(job)).toMatchObject({
        source: { records: 33, rejected: 2, blank: 1 },
        maxRejected: { share: 0.1 },
        chunks: { records: 30 },
      });
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 0, counts: { read: 33, failed: 1, rejected: 2 } });
      expect(await readFile(`${job.outputPath}.rejects.csv`, 'utf8')).toMatch(/^file.*\n.*\n.*\n$/);
    });
  });
});

describe('a limit that is lowered or raised', () => {
  it.each([
    ['bad', withBad],
    ['blank', withBlank],
  ])('on a resume changes nothing: the same records are sent (%s)', async (_, text) => {
    for (const later of [0, '100%']) {
      await withJob({ behaviour, files: { 'source.csv': text }, config: limit(5) }, async (job) => {
        await job.failure({}, stopAt('after-accepted-before-poll', 2));
        // Touched, so that it is read again.
        await writeFile(job.sourcePath, text);
        expect(await plan(job, limit(later))).toMatchObject({ next: { kind: 'continue' } });
        const summary = await job.enrich(limit(later));
        expect(summary).toMatchObject({ found: 'continued', exitCode: 0 });
        expect(job.service.folios.flatMap(({ records }) => records)).toHaveLength(30);
      });
    }
  });

  it('after the run is done begins no other run, and with --new decides again', async () => {
    await withJob({ files: { 'source.csv': withBlank }, config: limit(1) }, async (job) => {
      await job.enrich();
      expect(await job.enrich(limit(0))).toMatchObject({ found: 'done' });
      const seen = job.service.seen.length;
      expect(await job.failure(limit(0), { fresh: true })).toMatchObject({ code: 'SOURCE_NOTHING_TO_SEND' });
      expect(job.service.seen.length).toBe(seen);
      await expectEnriched(job);
    });
  });

  it('keeps an unfinished run whose source is replaced by one beyond it', async () => {
    const config = { source: { onChange: 'supersede' } };
    await withJob({ behaviour, files: { 'source.csv': good }, config }, async (job) => {
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      await writeFile(job.sourcePath, withBlank);
      expect(await job.failure()).toMatchObject({ exitCode: 4, code: 'SOURCE_NOTHING_TO_SEND' });
      await writeFile(job.sourcePath, good);
      expect(await job.enrich()).toMatchObject({ found: 'continued', exitCode: 0 });
    });
  });
});

it('the command says what to type, and that does it', async () => {
  await withJob({ files: { 'source.csv': withBlank } }, async (job) => {
    const { baseUrl } = job.config().service;
    const file = join(job.folder, 'job.yaml');
    const config = {
      pipeline: 'nightly',
      source: { path: 'source.csv' },
      upload: { columns: { name: 'Business', address: 'Address', state: 'State' } },
      service: { baseUrl, token: `\${FOLIOPIPE_TOKEN}` },
      poll: { first: '20ms', max: '100ms' },
      output: { path: 'out/enriched.csv' },
    };
    await writeFile(file, JSON.stringify(config));
    const env = { FOLIOPIPE_TOKEN: job.service.token };
    const refused = await callMain(['run', file], { env });
    expect(refused.code).toBe(4);
    const [, set] = /foliopipe run -c \S+ (--set \S+)/.exec(refused.stderr)!;
    const plan = await callMain(['plan', file, ...set!.split(' ')], { env });
    expect(plan.stdout).toContain(
      '\n  1 blank record would not be sent (upload.skipBlank): 3.2%, and source.maxRejected is 1\n',
    );
    const done = await callMain(['run', file, ...set!.split(' ')], { env });
    expect(done.code, done.stderr).toBe(0);
    expect(done.stderr).toContain('1 record blank in all sent columns: FAILED with NOTHING_TO_SEND');
  });
});
