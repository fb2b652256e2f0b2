/** A checkpoint that is partly or completely lost after kill -9: noticed before anything is sent, and rebuilt. */
import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ConfigError, openCheckpointReader, publish, recover } from '../../../pipelines/index.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { hintOf } from '../../../src/hints.js';
import { readLedger } from '../../../src/report/ledger.js';
import { expectEnriched, expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { checkpointFile, flipBit, killAt, loseCheckpoint } from '../../helpers/state/killed-state.js';

/** Damage by a person, a crash or a copy. */
const losses: Readonly<
  Record<string, { readonly lose: (job: Job) => Promise<void>; readonly code: string }>
> = {
  'its log alone': { lose: async (job) => rm(checkpointFile(job, '-wal')), code: 'CHECKPOINT_BEHIND' },
  'its database alone': { lose: async (job) => rm(checkpointFile(job)), code: 'CHECKPOINT_LOST' },
  'the content of its database, but not its log': {
    lose: async (job) => writeFile(checkpointFile(job), ''),
    code: 'CHECKPOINT_LOST',
  },
  'everything but the runs': { lose: loseCheckpoint, code: 'CHECKPOINT_LOST' },
  'its head': {
    lose: async (job) => {
      await rm(checkpointFile(job, '-wal'));
      await writeFile(checkpointFile(job), 'x'.repeat(20_000));
    },
    code: 'CHECKPOINT_DAMAGED',
  },
};

describe('a checkpoint that has lost, after kill -9,', () => {
  it.each(Object.entries(losses))(
    '%s: nothing is sent; after recover it goes on',
    async (_, { lose, code }) => {
      await withJob({ behaviour }, async (job) => {
        await killAt(job, 'after-downloaded-before-merge', 3);
        await lose(job);
        const requests = job.service.seen.length;
        const error = await job.failure();
        expect(error).toMatchObject({ code, exitCode: 2 });
        expect(hintOf(error as ConfigError)).toContain('recover');
        await expect(openCheckpointReader(job.config().stateDir)).rejects.toMatchObject({ code });
        expect(job.service.seen.length).toBe(requests);

        const preview = await recover(job.config(), { dryRun: true });
        expect(await job.failure()).toMatchObject({ code });
        const recovered = await recover(job.config());
        expect(recovered).toMatchObject({ runs: preview.runs, replaced: true });
        expect(recovered.runs).toMatchObject([{ found: 'rebuilt', pipeline: 'hostile', state: 'open' }]);
        expect(recovered.runs[0]!.downloaded).toBeGreaterThanOrEqual(3);
        expect(job.service.seen.length).toBe(requests);
        await expectGoneOn(job);
      });
    },
  );

  it('everything since an old copy: nothing is sent; after recover it goes on', async () => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-accepted-before-poll', 2);
      const copy = path.join(job.folder, 'copy');
      await cp(checkpointFile(job), copy);
      await cp(checkpointFile(job, '-wal'), `${copy}-wal`);
      await killAt(job, 'after-accepted-before-poll', 1);
      for (const end of ['-wal', '-shm']) await rm(checkpointFile(job, end), { force: true });
      await cp(copy, checkpointFile(job));
      await cp(`${copy}-wal`, checkpointFile(job, '-wal'));
      const requests = job.service.seen.length;
      expect(await job.failure()).toMatchObject({
        code: 'CHECKPOINT_BEHIND',
        exitCode: 2,
        message: expect.stringMatching(
          /\d+ uploads? of \d+ records and \d+ folios?, the newest \w+; nothing was sent/,
        ),
      });
      expect(job.service.seen.length).toBe(requests);
      const { base, aside } = await recover(job.config());
      expect(base).toBe('whole');
      expect(await readdir(job.config().stateDir)).toContain(path.basename(aside[0]!));
      await expectGoneOn(job);
    });
  });

  it('the end or a byte of its log: it is refused, or knows everything that was paid', async () => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-downloaded-before-merge', 3);
      const { stateDir } = job.config();
      const log = await readFile(checkpointFile(job, '-wal'));
      await cp(stateDir, path.join(job.folder, 'whole'), { recursive: true });
      const paid = await paidIn(path.join(job.folder, 'whole'));
      expect(paid.length).toBeGreaterThan(3);
      let refused = 0;
      for (let at = 0; at < log.length; at += 9_999) {
        for (const how of ['cut', 'flipped']) {
          const copy = path.join(job.folder, `${how}-${at}`);
          await cp(stateDir, copy, { recursive: true });
          const damaged = path.join(copy, 'checkpoint.db-wal');
          if (how === 'cut') await truncate(damaged, at);
          else await flipBit(damaged, at);
          const known = await knownAfter(copy);
          if (known === undefined) refused += 1;
          else expect(known).toEqual(expect.arrayContaining(paid));
          await rm(copy, { recursive: true });
        }
      }
      expect(refused).toBeGreaterThan(5);
      await truncate(checkpointFile(job, '-wal'), log.length / 2);
      expect(await job.failure()).toMatchObject({ code: 'CHECKPOINT_BEHIND' });
      await recover(job.config());
      await expectGoneOn(job);
    });
  });
});

describe('a run that is done', () => {
  it('is known as done after its checkpoint was lost, with ledger, columns and publication', async () => {
    await withJob({ behaviour }, async (job) => {
      const done = await job.enrich();
      const ledger = await ledgerOf(job);
      const requests = job.service.seen.length;
      const folder = path.join(job.config().stateDir, 'runs', done.run);
      await loseCheckpoint(job);
      await recover(job.config());
      expect(await ledgerOf(job)).toEqual(ledger);
      const { createdAt, finishedAt, columns, counts } = done;
      expect(await job.enrich()).toMatchObject({
        found: 'done',
        run: done.run,
        ...{ createdAt, finishedAt, columns, counts },
      });
      const reader = (await openCheckpointReader(job.config().stateDir))!;
      expect(await reader.knownColumns('hostile', job.service.url)).toEqual(columns);
      await reader.close();
      expect(job.service.seen.length).toBe(requests);

      // The parts of a chunk are lost too, while the service is out.
      await loseCheckpoint(job);
      for (const part of await readdir(folder))
        if (part.startsWith('part-000002-')) await rm(path.join(folder, part));
      await recover(job.config());
      await rm(job.outputPath);
      job.service.behaviour = { trouble: () => ({ kind: 'answer', status: 503 }) };
      const changes = { retry: { giveUpAfter: '50ms' } };
      const outage = { code: 'SERVICE_UNAVAILABLE', exitCode: 5 };
      expect(await job.failure(changes)).toMatchObject(outage);
      await expect(publish(job.config(changes), done.run)).rejects.toMatchObject(outage);
    });
  });

  it('stays in the ledger after its results were removed and its checkpoint was lost', async () => {
    await withJob({ behaviour, config: { retention: { results: '1ms' } } }, async (job) => {
      await job.enrich();
      await writeFile(
        job.sourcePath,
        (await readFile(job.sourcePath, 'utf8')).split('\n').slice(0, 20).join('\n'),
      );
      await job.enrich();
      const ledger = await ledgerOf(job);
      await loseCheckpoint(job);
      const { runs } = await recover(job.config());
      expect(runs.map(({ prunedAt }) => prunedAt !== null)).toEqual([true, false]);
      expect(await ledgerOf(job)).toEqual(ledger);
    });
  });
});

/** Runs to the end: no chunk with a known folio was sent again, and ambiguous uploads are counted. */
async function expectGoneOn(job: Job): Promise<void> {
  const summary = await job.enrich();
  await expectSuccess(job, summary, all);
  expect(await job.output()).toBe(await unbrokenOutput());
  await expectEnriched(job);
  expect(summary.uploads.accepted).toBe(6);
  expect(job.service.folios.length - 6).toBeLessThanOrEqual(summary.uploads.ambiguous);
}

/** Every upload of the latest run that was or may have been paid. */
async function paidIn(stateDir: string): Promise<string[]> {
  const checkpoint = await openSqliteCheckpoint(stateDir);
  try {
    const run = (await checkpoint.unfinishedRun('hostile'))!;
    await checkpoint.verifyPaid(run.id);
    const uploads = await checkpoint.uploads(run.id, 0, 1_000);
    return uploads
      .filter(({ state }) => state !== 'dropped')
      .map(({ fileName, folio }) => `${fileName} ${folio}`);
  } finally {
    await checkpoint.close();
  }
}

/** The same, or undefined if the checkpoint is refused. */
async function knownAfter(stateDir: string): Promise<string[] | undefined> {
  try {
    return await paidIn(stateDir);
  } catch (error) {
    expect(error).toMatchObject({ name: 'ConfigError', code: expect.stringMatching(/^CHECKPOINT_/) });
    return undefined;
  }
}

async function ledgerOf(job: Job): Promise<unknown[]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  const entries: unknown[] = [];
  for await (const entry of readLedger(reader, undefined, { timeZone: 'UTC', pricePerRecord: null })) {
    entries.push(entry);
  }
  await reader.close();
  return entries;
}
