/** `abandon` gives up a folio that is never finished, so that the run ends without it; `adopt` binds it again. */
import { readdir, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  abandon,
  adopt,
  createFileLock,
  type FoliopipeError,
  hintOf,
  LockedError,
  recover,
  reportPage,
  reportRun,
  retry,
} from '../../../pipelines/index.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  failingAmong,
  folioOf,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { type Enrichment, predictedEnrichment } from '../../helpers/jobs/sample-source.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { loseCheckpoint } from '../../helpers/state/killed-state.js';

const folder = useSharedFolder();
const all = failingAmong(60);
/** The folio of a chunk never finishes. The others do at the first poll, which no time-out precedes. */
const stuck = (...chunks: number[]): Behaviour => ({
  finishedAtPoll: ({ chunk }) => (chunks.includes(chunk) ? Number.POSITIVE_INFINITY : 1),
});
const impatient: Changes = { poll: { timeout: '150ms' }, budget: { pricePerRecord: 0.05 } };
const abandoned: Enrichment = {
  status: 'UNPROCESSED',
  code: 'FOLIO_ABANDONED',
  error: 'the folio of this record was given up by hand',
  added: {},
};
const without =
  (...chunks: number[]) =>
  (row: Readonly<Record<string, string>>, number: number) =>
    chunks.includes(Math.ceil(number / 10)) ? abandoned : predictedEnrichment(row);

/** Runs the job until only the stuck folio is left. */
async function runInto(job: Job, changes: Changes = impatient): Promise<string> {
  const error = (await job.failure(changes)) as FoliopipeError;
  expect(error).toMatchObject({ code: 'FOLIOS_TIMED_OUT', exitCode: 5 });
  return String(error.facts.run);
}

describe('a chunk whose answers are here and cannot be joined', () => {
  const columns = (names: readonly string[]) => names.filter((name) => name !== 'record_id');

  it('is given up with yes alone, and the other answers are published', async () => {
    const style: Behaviour['style'] = ({ chunk }) => (chunk === 3 ? { columns } : {});
    await withJob({ behaviour: { style, finishedAtPoll: ({ chunk }) => chunk } }, async (job) => {
      const error = (await job.failure()) as FoliopipeError;
      expect(error).toMatchObject({ code: 'JOIN_WEAKER', facts: { chunk: 3 } });
      expect(hintOf(error)).toMatch(
        /to go on without its answers, which stay paid for: foliopipe abandon --run 20\S+ --chunk 3 --yes$/,
      );
      const config = job.config();
      const refusal = await abandon(config, { run: 'last', chunk: 3 }).catch((found) => found);
      expect(refusal).toMatchObject({ code: 'ABANDON_CHUNK_STATE' });
      expect(hintOf(refusal)).toMatch(/exit 6, .*foliopipe abandon --run \S+ --chunk 3 --yes$/);
      // The rows of chunk 1 are written already.
      for (const chunk of [1, 3]) await abandon(config, { run: 'last', chunk }, { yes: true });
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 3, counts: { read: 60, unprocessed: 20 } });
      await expectEnriched(job, without(1, 3));
      expect(await abandon(config, { run: 'last', chunk: 3 }).catch((found) => found)).toMatchObject({
        code: 'ABANDON_RUN_ENDED',
      });
      // The service gives better results now.
      const answered = job.service.folios.length;
      job.service.behaviour = {};
      for (const chunk of [1, 3]) {
        await adopt(config, { run: summary.run, chunk, folio: folioOf(job, chunk) });
      }
      await expectSuccess(job, await job.enrich(), all);
      expect(job.service.folios).toHaveLength(answered);
    });
  });

  it('of a round is given up, and its records stay FAILED', async () => {
    await withJob({}, async (job) => {
      const { run, counts } = await job.enrich();
      const before = await job.output();
      job.service.behaviour = { style: () => ({ columns }) };
      const error = (await retry(job.config(), run).catch((found) => found)) as FoliopipeError;
      expect(error).toMatchObject({ code: 'JOIN_WEAKER' });
      await abandon(job.config(), { run, chunk: Number(error.facts.chunk) }, { yes: true });
      expect(await job.enrich()).toMatchObject({ run, state: 'done', counts });
      expect(await job.output()).toBe(before);
    });
  });
});

describe('a folio that never gives all its records', () => {
  it('is given up by hand, and the other answers are published', async () => {
    const results: Behaviour['results'] = (all, { chunk }) => (chunk === 2 ? all.slice(1) : all);
    await withJob({ behaviour: { results } }, async (job) => {
      const error = (await job.failure()) as FoliopipeError;
      expect(error).toMatchObject({ code: 'CHUNK_UNBALANCED', exitCode: 6 });
      expect(error.hint).toMatch(
        /; to go on without its answers, which stay paid for: foliopipe abandon --run 20\S+ --chunk 2$/,
      );
      const given = await abandon(job.config(), { run: 'last', chunk: 2 });
      expect(given).toMatchObject({ folio: folioOf(job, 2), records: 10, already: false });
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 3, counts: { read: 60, unprocessed: 10 } });
      expect(job.service.folios).toHaveLength(6);
      await expectEnriched(job, without(2));
    });
  });
});

describe('a folio past poll.timeout', () => {
  it('is given up by hand: the run ends without it, says so, and adopt binds it again at no cost', async () => {
    await withJob({ behaviour: stuck(2), config: impatient }, async (job) => {
      const error = (await job.failure()) as FoliopipeError;
      const run = String(error.facts.run);
      const folio = folioOf(job, 2);
      expect(error).toMatchObject({ code: 'FOLIOS_TIMED_OUT', exitCode: 5 });
      expect(error.hint).toContain(
        `to end the run without folio ${folio} and its 10 records: foliopipe abandon --run ${run} --chunk 2`,
      );

      const given = { run, chunk: 2, folio, records: 10, round: 0, amount: 0.5, already: false };
      expect(await abandon(job.config(), { run, chunk: 2 })).toMatchObject(given);
      // A kill after the commit, and the same command again.
      expect(await abandon(job.config(), { run, chunk: 2 })).toMatchObject({ ...given, already: true });

      const summary = await job.enrich();
      expect(summary).toMatchObject({ run, exitCode: 3, counts: { read: 60, unprocessed: 10 }, lost: [] });
      expect(summary.abandoned).toEqual([{ chunk: 2, folio, records: 10, round: 0 }]);
      await expectEnriched(job, without(2));
      expect(await job.published()).toContain('enriched.csv._PARTIAL');
      // The page names the way that pays nothing, too.
      expect(await reportPage(await reportRun(job.config()))).toContain(
        `chunk 2: folio ${folio} was given up by hand (10 records UNPROCESSED); once the service`,
      );
      const manifest = await job.manifest();
      expect(manifest).toMatchObject({ complete: false, counts: { unprocessed: 10 } });
      expect(manifest.chunks[1]).toMatchObject({ chunk: 2, cause: 'FOLIO_ABANDONED' });

      // A done run does not ask for it again by itself.
      const polls = job.service.count('track');
      expect(await job.enrich()).toMatchObject({ found: 'done', exitCode: 3 });
      expect(job.service.count('track')).toBe(polls);

      job.service.behaviour = {};
      expect(await adopt(job.config(), { run, chunk: 2, folio })).toMatchObject({ records: 10 });
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('of a round is given up, and its records stay FAILED', async () => {
    const config = { ...impatient, failures: { rounds: 1, tolerate: '100%' } };
    await withJob({ behaviour: stuck(7), config }, async (job) => {
      const run = await runInto(job, {});
      expect(await abandon(job.config(), { run, chunk: 7 })).toMatchObject({ round: 1 });
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 0, counts: { failed: all, unprocessed: 0 } });
      expect(summary.abandoned).toMatchObject([{ chunk: 7, round: 1 }]);
      await expectEnriched(job);
    });
  });

  it('is known to the journal: the run ends the same way after the checkpoint was lost', async () => {
    await withJob({ behaviour: stuck(4), config: impatient }, async (job) => {
      const run = await runInto(job, {});
      await abandon(job.config(), { run, chunk: 4 });
      // An old copy of the checkpoint lacks a paid chunk in the same way.
      const db = openSqlite(join(job.config().stateDir, 'checkpoint.db'));
      db.exec('PRAGMA foreign_keys = OFF; DELETE FROM chunks WHERE number = 1');
      db.close();
      const behind = { code: 'CHECKPOINT_BEHIND', exitCode: 2 };
      await expect(abandon(job.config(), { run, chunk: 4 })).rejects.toMatchObject(behind);
      await loseCheckpoint(job);
      await recover(job.config());
      expect(await job.enrich()).toMatchObject({ run, exitCode: 3, counts: { unprocessed: 10 } });
      await expectEnriched(job, without(4));
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is given up even if a kill has lost the line in the journal', async () => {
    await withJob({ behaviour: stuck(4), config: impatient }, async (job) => {
      const run = await runInto(job, {});
      await abandon(job.config(), { run, chunk: 4 });
      const journal = join(job.config().stateDir, 'runs', run, 'paid.log');
      const text = await readFile(journal, 'utf8');
      expect(text.trimEnd().split('\n').at(-1)).toContain('FOLIO_ABANDONED');
      await truncate(journal, text.trimEnd().lastIndexOf('\n') + 1);
      expect(await job.enrich()).toMatchObject({ run, exitCode: 3, counts: { unprocessed: 10 } });
      expect(await readFile(journal, 'utf8')).toContain('FOLIO_ABANDONED');
    });
  });

  it('is bought again by a later run that reuses the other answers', async () => {
    const config = { ...impatient, reuse: { maxAge: '90d', maxMiss: '100%' } };
    await withJob({ behaviour: stuck(3), config }, async (job) => {
      const run = await runInto(job, {});
      await abandon(job.config(), { run, chunk: 3 });
      expect(await job.enrich()).toMatchObject({ exitCode: 3 });
      job.service.behaviour = {};
      const next = await job.enrich({ reuse: { failedAge: '90d' } }, { fresh: true });
      // One of the ten is equal to a record that has an answer.
      expect(next.origins).toMatchObject({ sent: { records: 9 }, reused: { records: 51 } });
      await expectEnriched(job);
    });
  });
});

describe('abandoning is refused', () => {
  const refusal = (job: Job, run: string, chunk: number, changes?: Changes) =>
    abandon(job.config(changes), { run, chunk }).then(
      () => undefined,
      (error: unknown) => error as FoliopipeError,
    );

  it('for a chunk without an open folio, and for an unknown run or chunk', async () => {
    // The upload of chunk 5 is cut, and held; chunk 6 is never finished.
    const lose = firstUploadOf([5], { kind: 'lose', share: 0 });
    const behaviour = { ...stuck(6), trouble: lose };
    await withJob({ behaviour, config: { ...impatient, ambiguous: { policy: 'hold' } } }, async (job) => {
      const run = await runInto(job, {});
      const cases = [
        [1, 'ABANDON_CHUNK_STATE', 'downloaded', 'foliopipe run takes them'],
        [5, 'ABANDON_CHUNK_STATE', 'AMBIGUOUS_HELD', `adopt --run ${run} --chunk 5 FOLIO`],
        [9, 'ABANDON_CHUNK_UNKNOWN', 'no chunk 9', 'foliopipe status --run'],
      ] as const;
      for (const [chunk, code, message, hint] of cases) {
        const error = await refusal(job, run, chunk);
        expect(error).toMatchObject({ code, exitCode: 2, message: expect.stringContaining(message) });
        expect(error!.hint).toContain(hint);
      }
      expect(await refusal(job, 'nothing', 6)).toMatchObject({ code: 'RUN_UNKNOWN', exitCode: 2 });
      const elsewhere = await refusal(job, run, 6, { pipeline: 'another' });
      expect(elsewhere).toMatchObject({ code: 'RUN_UNKNOWN' });
      await abandon(job.config(), { run, chunk: 6 });
      await job.enrich();
      expect(await refusal(job, run, 6)).toMatchObject({ code: 'ABANDON_RUN_ENDED', exitCode: 2 });
      await retry(job.config(), run);
    });
  });

  it('while a run works: exit 11, and how to stop it', async () => {
    await withJob({ behaviour: stuck(2), config: impatient }, async (job) => {
      const run = await runInto(job, {});
      const lock = createFileLock(job.config().stateDir);
      const held = await lock.take('hostile', { pid: 1, command: 'run', since: 0 });
      try {
        const error = await refusal(job, run, 2);
        expect(error).toBeInstanceOf(LockedError);
        expect(error!.exitCode).toBe(11);
        expect(hintOf(error!)).toMatch(/stop that run with Ctrl-C or SIGTERM.+--wait-lock/);
      } finally {
        await held.close();
      }
    });
  });
});

it('the command needs no token, tells the cost, and status names it for a stuck folio', async () => {
  const service = await openFakeService(stuck(2));
  try {
    const settings = {
      poll: { timeout: '200ms' },
      budget: { pricePerRecord: 0.05 },
    };
    const job = await createJob(await folder(), { baseUrl: service.url, records: 30, settings });
    const env = { FOLIOPIPE_TOKEN: service.token };
    const stopped = await callMain(['run', job.config], { env });
    const [, command = '', run = ''] =
      /(foliopipe abandon -c \S+ --run (\S+) --chunk 2)$/m.exec(stopped.stderr) ?? [];
    expect(stopped).toMatchObject({ code: 5 });
    expect((await callMain(['status', job.config], { env })).stdout).toContain(
      `; to give it up: ${command}\n`,
    );

    const words = ['abandon', '--run', run, '--chunk', '2', job.config];
    const given = await callMain(words, { env: {} });
    expect(given).toMatchObject({ code: 0, stderr: '' });
    const [{ id: folio = '' } = {}] = service.folios.filter(({ chunk }) => chunk === 2);
    expect(given.stdout).toBe(
      [
        `run ${run}: folio ${folio} of chunk 2 is given up; 10 records, paid in vain so far, 0.50 USD`,
        `  go on with: foliopipe run -c ${job.config}, which does not wait for it: 10 records UNPROCESSED (FOLIO_ABANDONED)`,
        `  once the service has finished or corrected it, bind it again: foliopipe adopt -c ${job.config} --run ${run} --chunk 2 ${folio}`,
        '',
      ].join('\n'),
    );
    const last = ['abandon', '--run', 'last', '--chunk', '2', job.config, '--json'];
    const again = jsonLines((await callMain(last, { env })).stdout);
    expect(again).toMatchObject([{ type: 'summary', run, chunk: 2, already: true, exitCode: 0 }]);
    expect((await callMain(['status', job.config], { env })).stdout).toContain('was given up by hand');

    const ended = await callMain(['run', job.config], { env });
    expect(ended).toMatchObject({ code: 3 });
    expect(ended.stderr).toContain(
      `chunk 2: folio ${folio} was given up by hand (10 records UNPROCESSED); once the service has finished or corrected it, bind it again: foliopipe adopt -c ${job.config} --run ${run} --chunk 2 ${folio}`,
    );
    expectError(await callMain(words, { env }), 2, /ABANDON_RUN_ENDED/);
    expect(await readdir(join(job.folder, 'out'))).toContain('enriched.csv._PARTIAL');
    expect(service.count('upload')).toBe(3);

    // The next step that exit 3 names buys the records of this folio alone.
    const [, next = ''] =
      /next: foliopipe (run .+) sends up to 10 unprocessed records once more, .+ \(paid again: 0\.50 USD\); what adopt binds first is not sent again$/m.exec(
        ended.stderr,
      ) ?? [];
    expect(await callMain(next.split(' '), { env })).toMatchObject({ code: 0 });
    expect(service.count('upload')).toBe(4);
    // Two of them are equal to records that were answered.
    expect(service.folios.at(-1)!.records.map((sent) => Number(sent.record_id))).toEqual([
      11, 12, 13, 15, 16, 17, 18, 20,
    ]);
    expect(await readdir(join(job.folder, 'out'))).toContain('enriched.csv._SUCCESS');
  } finally {
    await service.close();
  }
});

it('in a sample the hints are about its run, and not about the whole job', async () => {
  const service = await openFakeService(stuck(2));
  try {
    const settings = { poll: { timeout: '200ms' } };
    const job = await createJob(join(await folder(), 'sample'), {
      baseUrl: service.url,
      records: 30,
      settings,
    });
    const env = { FOLIOPIPE_TOKEN: service.token };
    const stopped = await callMain(['run', job.config, '--limit', '20'], { env });
    const [, run = ''] = /foliopipe abandon -c \S+ --run (\S+) --chunk 2$/m.exec(stopped.stderr) ?? [];
    const given = await callMain(['abandon', '--run', run, '--chunk', '2', job.config], { env: {} });
    expect(given.stdout).toContain(
      `\n  go on with: foliopipe run -c ${job.config} --limit 20, which does not`,
    );
  } finally {
    await service.close();
  }
});
