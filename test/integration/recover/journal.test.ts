/** The journal of a run: its lines, and what happens if it is torn, damaged or missing. */
import { readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recover } from '../../../pipelines/index.js';
import { expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { flipBit, journalFile, killAt, loseCheckpoint } from '../../helpers/state/killed-state.js';

describe('the journal of a run', () => {
  it('is private to its owner, and jq can read it: the run, each intent, each folio', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const journal = await journalFile(job);
      expect((await stat(journal)).mode & 0o777).toBe(0o600);
      const lines = (await readFile(journal, 'utf8')).trimEnd().split('\n');
      const [head, ...rest] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(head).toMatchObject({ type: 'run', run, source: { sha256: expect.any(String) } });
      expect(head!.frozen).toMatchObject({ 'chunks.maxRecords': '10' });
      const intents = rest.filter(({ type }) => type === 'intent');
      expect(intents).toHaveLength(6);
      expect(intents[0]).toMatchObject({ chunk: 1, attempt: 1, firstRecord: 1, lastRecord: 10, records: 10 });
      const folios = rest.filter(({ type }) => type === 'accepted').map(({ folio }) => folio);
      expect(folios.sort()).toEqual(job.service.folios.map(({ id }) => id).sort());
      expect(lines.join('\n')).not.toContain(job.service.token);
    });
  });

  it('goes on after a torn last line', async () => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-accepted-before-poll', 3);
      const journal = await journalFile(job);
      await truncate(journal, (await stat(journal)).size - 7);
      await expectGoneOn(job);
      await expectDoneWhenRecovered(job);
    });
  });

  it('that is damaged is refused with the line, and written again from a complete checkpoint', async () => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-accepted-before-poll', 3);
      const journal = await damage(job);
      const requests = job.service.seen.length;
      const damaged = { code: 'JOURNAL_DAMAGED', exitCode: 2, facts: { path: journal, line: 2 } };
      expect(await job.failure()).toMatchObject(damaged);
      expect(job.service.seen.length).toBe(requests);
      expect(await recover(job.config())).toMatchObject({ replaced: false, runs: [{ found: 'renewed' }] });
      const kept = (await readdir(journal.replace(/paid\.log$/, ''))).filter((name) =>
        /^paid\..*bak$/.test(name),
      );
      expect(kept).toHaveLength(1);
      await expectGoneOn(job);
      await expectDoneWhenRecovered(job);
    });
  });

  it('that is damaged beside a lost checkpoint is reported, and its run is left alone', async () => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-accepted-before-poll', 3);
      await damage(job);
      await loseCheckpoint(job);
      const { runs } = await recover(job.config());
      expect(runs).toMatchObject([{ found: 'lost', reason: expect.stringContaining('line 2 of') }]);
      const requests = job.service.seen.length;
      expect(await job.failure()).toMatchObject({ code: 'CHECKPOINT_BEHIND', exitCode: 2 });
      expect(job.service.seen.length).toBe(requests);
    });
  });

  it('that is missing after a kill is made without a message', async () => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-run-before-chunk', 1);
      await rm(dirname(await journalFile(job)), { recursive: true });
      const told: string[] = [];
      const warn = (_: object, text: string) => void told.push(text);
      const logger = { debug: () => undefined, info: () => undefined, warn, error: warn };
      await expectSuccess(job, await job.enrich({}, { logger }), all);
      expect(told).toEqual([]);
      await expectDoneWhenRecovered(job);
    });
  });

  it.each(['missing', 'empty'])('that is %s is written again, and this is reported', async (how) => {
    await withJob({ behaviour }, async (job) => {
      await killAt(job, 'after-accepted-before-poll', 3);
      if (how === 'missing') await rm(await journalFile(job));
      else await truncate(await journalFile(job), 0);
      const told: string[] = [];
      const warn = (_: object, text: string) => void told.push(text);
      const logger = { debug: () => undefined, info: () => undefined, warn, error: warn };
      await expectSuccess(job, await job.enrich({}, { logger }), all);
      expect(told.join('\n')).toMatch(/the journal of run \S+ was missing/);
      await expectDoneWhenRecovered(job);
    });
  });
});

/** Changes one bit of the second line. */
async function damage(job: Job): Promise<string> {
  const journal = await journalFile(job);
  await flipBit(journal, (await readFile(journal)).indexOf('\n') + 20);
  return journal;
}

async function expectGoneOn(job: Job): Promise<void> {
  const summary = await job.enrich();
  await expectSuccess(job, summary, all);
  expect(await job.output()).toBe(await unbrokenOutput());
  expect(job.service.folios.length - 6).toBeLessThanOrEqual(summary.uploads.ambiguous);
}

/** Expects a complete journal: after the checkpoint was lost the run is done. */
async function expectDoneWhenRecovered(job: Job): Promise<void> {
  const uploads = job.service.count('upload');
  await loseCheckpoint(job);
  await recover(job.config());
  expect(await job.enrich()).toMatchObject({ found: 'done', uploads: { accepted: 6 } });
  expect(job.service.count('upload')).toBe(uploads);
}
