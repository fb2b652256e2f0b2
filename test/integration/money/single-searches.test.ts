/** `foliopipe search` is paid for: it counts in ledger and budget, from before its request on, and survives a kill. */
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  backupState,
  createFileLock,
  type FoliopipeError,
  openCheckpointReader,
  recover,
  restoreState,
  search,
} from '../../../pipelines/index.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { type Job as CliJob, createJob } from '../../helpers/jobs/cli-job.js';
import { type Changes, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { jsonLines, killCliAt } from '../../helpers/processes/cli.js';
import { openServe } from '../../helpers/service/serve.js';
import { loseDatabase } from '../../helpers/state/killed-state.js';

const folder = useSharedFolder();
const asked = { name: 'Twin Rivers Roofing', state: 'MT' };

/** A job whose searches go to the fake service. */
async function withSearch(use: (job: Job, changes: Changes) => Promise<void>): Promise<void> {
  await withJob({}, (job) => use(job, { service: { legacyBaseUrl: job.service.url } }));
}

const withBudget = (changes: Changes, budget: object): Changes => ({ ...changes, budget });

async function kept(job: Job) {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const searches = await reader.singleSearches(undefined, '', 100);
    const { day = '2026-11-21' } = searches[0] ?? {};
    return { searches, spent: await reader.spending('hostile', null, day) };
  } finally {
    await reader.close();
  }
}

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as FoliopipeError,
  );

describe('a search of no run', () => {
  it('is refused before it is sent when the budget of the day or the month is used up', async () => {
    await withSearch(async (job, changes) => {
      await search(job.config(withBudget(changes, { perDay: 1 })), asked);
      for (const cap of ['perDay', 'perMonth']) {
        const error = await failure(search(job.config(withBudget(changes, { [cap]: 1 })), asked));
        expect(error).toMatchObject({ code: 'BUDGET_REACHED', exitCode: 9, facts: { cap, spent: 1 } });
        expect(error!.hint).toBe(
          `nothing was sent: raise budget.${cap}, or wait, and run the same command again`,
        );
      }
      // A run has a budget of its own.
      await search(job.config(withBudget(changes, { perRun: 1 })), asked);
      expect(job.service.count('search')).toBe(2);
      expect((await kept(job)).spent).toEqual({ run: 0, day: 2, month: 2 });
    });
  });

  it('counts against the uploads of a run, and the other way round', async () => {
    await withSearch(async (job, changes) => {
      await search(job.config(changes), asked);
      const error = await job.failure(withBudget(changes, { perDay: 60 }));
      expect(error).toMatchObject({ code: 'BUDGET_REACHED', exitCode: 9 });
      expect(job.service.count('upload')).toBeLessThan(6);
      const spent = job.service.count('upload') * 10 + 1;
      const full = failure(search(job.config(withBudget(changes, { perDay: spent })), asked));
      expect(await full).toMatchObject({ code: 'BUDGET_REACHED' });
    });
  });

  it('is refused without a name, before it is recorded', async () => {
    await withSearch(async (job, changes) => {
      const error = await failure(search(job.config(changes), { name: ' \t ', state: 'MT' }));
      expect(error).toMatchObject({ code: 'SEARCH_EMPTY', exitCode: 2, hint: expect.any(String) });
      expect(job.service.count('search')).toBe(0);
    });
  });

  it('is refused without an address, before it is recorded', async () => {
    await withSearch(async (job) => {
      await job.enrich();
      expect(await failure(search(job.config(), asked))).toMatchObject({
        code: 'CONFIG_LEGACY_URL',
        exitCode: 2,
      });
      expect(await readdir(job.config().stateDir)).not.toContain('searches.log');
      expect((await kept(job)).searches).toEqual([]);
    });
  });

  it('may be asked while a run of the pipeline works', async () => {
    await withSearch(async (job, changes) => {
      const lock = createFileLock(job.config().stateDir);
      const held = await lock.take('hostile', { pid: 1, command: 'run', since: 0 });
      try {
        expect(await search(job.config(changes), asked)).toMatchObject({ rehearsal: false });
      } finally {
        await held.close();
      }
    });
  });

  it.each([
    ['was refused', { kind: 'answer', status: 422, body: '{}' }, 'dropped', 0],
    ['finds nothing', { kind: 'answer', status: 404, body: '{"message":"none"}' }, 'dropped', 0],
    ['was cut off', { kind: 'lose', share: 0 }, 'ambiguous', 1],
  ] as const)('that %s is %s', async (_, trouble, state, spent) => {
    await withSearch(async (job, changes) => {
      job.service.behaviour = { trouble: () => trouble };
      const config = job.config(changes);
      expect(await failure(search(config, asked))).toBeDefined();
      const before = await kept(job);
      expect(before).toMatchObject({ searches: [{ state, local: null }], spent: { day: spent } });
      expect(job.service.count('search')).toBe(1);
      await loseDatabase(config.stateDir);
      await recover(config);
      expect(await kept(job)).toEqual(before);
    });
  });

  it('is recorded in two places: a lost or old checkpoint is refused and rebuilt', async () => {
    await withSearch(async (job, changes) => {
      const config = job.config(changes);
      await search(config, asked);
      const { stateDir } = config;
      const old = await readFile(join(stateDir, 'checkpoint.db'));
      await search(config, asked);
      const before = await kept(job);
      expect(before.searches).toMatchObject([{ state: 'answered' }, { state: 'answered', local: false }]);
      expect((await stat(join(stateDir, 'searches.log'))).mode & 0o777).toBe(0o600);

      for (const [copy, code] of [
        [old, 'CHECKPOINT_BEHIND'],
        [undefined, 'CHECKPOINT_LOST'],
      ] as const) {
        await loseDatabase(stateDir);
        if (copy !== undefined) await writeFile(join(stateDir, 'checkpoint.db'), copy);
        expect(await failure(search(config, asked))).toMatchObject({ code, exitCode: 2 });
        expect(job.service.count('search')).toBe(2);
        const searches = copy === undefined ? 2 : 1;
        expect(await recover(config, { dryRun: true })).toMatchObject({ searches, replaced: false });
        expect(await recover(config)).toMatchObject({ searches, replaced: true });
        expect(await kept(job)).toEqual(before);
      }
      // Of the two places one is enough: the journal is written again.
      await rm(join(stateDir, 'searches.log'));
      const checkpoint = await openSqliteCheckpoint(stateDir);
      await checkpoint.close();
      expect((await readFile(join(stateDir, 'searches.log'), 'utf8')).match(/answered/g)).toHaveLength(2);
      expect(await recover(config)).toMatchObject({ base: 'whole', searches: 0, replaced: false });
    });
  });

  it('is in a backup, and what was searched after it is known from the journal', async () => {
    await withSearch(async (job, changes) => {
      const config = job.config(changes);
      await search(config, asked);
      const backup = join(job.folder, 'backup');
      await backupState(config, { folder: backup });
      await search(config, asked);
      const before = await kept(job);
      await restoreState(config, { folder: backup, replace: true });
      expect(await kept(job)).toEqual(before);

      await rm(config.stateDir, { recursive: true });
      await restoreState(config, { folder: backup });
      expect(await kept(job)).toMatchObject({ searches: before.searches.slice(0, 1), spent: { day: 1 } });
      expect(await readFile(join(config.stateDir, 'searches.log'), 'utf8')).toContain('answered');

      // A search has begun another state: the journal of both has the searches of both.
      await rm(config.stateDir, { recursive: true });
      await search(config, asked);
      await restoreState(config, { folder: backup, replace: true });
      const both = await kept(job);
      expect(both).toMatchObject({ searches: [{ state: 'answered' }, { state: 'answered' }] });
      await loseDatabase(config.stateDir);
      await recover(config);
      expect(await kept(job)).toEqual(both);
    });
  });

  it('keeps its journal readable after a kill in the middle of a line', async () => {
    await withSearch(async (job, changes) => {
      const config = job.config(changes);
      await search(config, asked);
      const path = join(config.stateDir, 'searches.log');
      const text = await readFile(path, 'utf8');
      await writeFile(path, text.slice(0, -20));
      await search(config, asked);
      await rm(join(config.stateDir, 'checkpoint.db'));
      await recover(config);
      // The outcome of the first one is lost, so it may have been paid for.
      expect((await kept(job)).searches).toMatchObject([{ state: 'ambiguous' }, { state: 'answered' }]);
    });
  });
});

describe('foliopipe search', () => {
  const words = ['--name', 'Twin Rivers Roofing', '--state', 'MT'];

  async function withCli(
    pipeline: string,
    use: (job: CliJob, env: Record<string, string>, count: () => number) => Promise<void>,
  ): Promise<void> {
    const service = await openFakeService();
    try {
      const settings = {
        service: { legacyBaseUrl: service.url },
        budget: { pricePerRecord: 0.05, perDay: 2 },
      };
      const job = await createJob(await folder(), { pipeline, baseUrl: service.url, settings });
      await use(job, { FOLIOPIPE_TOKEN: service.token }, () => service.count('search'));
    } finally {
      await service.close();
    }
  }

  it('is in the ledger, told apart, also when a kill came between request and reply', async () => {
    await withCli('nightly', async (job, env, count) => {
      const json = await callMain(['search', job.config, ...words, '--json'], { env });
      expect(jsonLines(json.stdout)).toMatchObject([
        { type: 'summary', rehearsal: false, amount: 0.05, currency: 'USD', exitCode: 0 },
      ]);
      await killCliAt('after-search-post-before-commit', ['search', job.config, ...words], { env });
      expect(count()).toBe(2);
      const full = await callMain(['search', job.config, ...words], { env });
      expectError(full, 9, /budget\.perDay is 2 records: 2 are spent/);
      expect(count()).toBe(2);

      const ledger = jsonLines((await callMain(['ledger', job.config, '--json'], { env })).stdout);
      const of = { type: 'search', run: null, chunk: null, records: 1, price: 0.05, rehearsal: false };
      expect(ledger).toMatchObject([
        { ...of, state: 'accepted', serviceRecords: 1, possiblyTwice: false },
        { ...of, state: 'ambiguous', serviceRecords: null, possiblyTwice: true },
        { type: 'summary', uploads: 0, searches: 2, records: 2, possiblyTwice: 1, amount: 0.1 },
      ]);
      const table = (await callMain(['ledger', job.config], { env })).stdout.split('\n');
      expect(table[1]).toMatch(/^searches of no run in \d{4} {2}nightly$/);
      expect(table[2]).toMatch(/^ {2}\S+ \S+ {2,}1 {2,}0\.05 {2,}search$/);
      expect(table[3]).toMatch(/ {2,}1 {2,}0\.05 {2,}search {2,}paid\?$/);
      expect(table[4]).toBe('0 uploads and 2 searches, 2 records to pay, cost 0.10 USD at 0.05 a record');
      const csv = (await callMain(['ledger', job.config, '--csv'], { env })).stdout.split('\n');
      expect(csv[1]).toMatch(/^nightly,,,,,,[^,]+Z,accepted,1,1,0\.05,false,false,search,false$/);
      const elsewhere = ['--set', 'pipeline=other', '--json'];
      const other = jsonLines((await callMain(['ledger', job.config, ...elsewhere], { env })).stdout);
      expect(other).toMatchObject([{ type: 'summary', searches: 0 }]);
    });
  });

  it('that a kill stopped before its request counts as possibly paid', async () => {
    await withCli('killed-early', async (job, env, count) => {
      await killCliAt('after-search-intent-before-post', ['search', job.config, ...words], { env });
      expect(count()).toBe(0);
      const [entry] = jsonLines((await callMain(['ledger', job.config, '--json'], { env })).stdout);
      expect(entry).toMatchObject({ state: 'ambiguous', possiblyTwice: true });
      expect(await callMain(['search', job.config, ...words], { env })).toMatchObject({ code: 0 });
    });
  });

  it('at a local service is a rehearsal, and costs nothing', async () => {
    const serve = await openServe(join(await folder(), 'service'));
    try {
      const settings = { service: { legacyBaseUrl: serve.url }, budget: { pricePerRecord: 0.05 } };
      const job = await createJob(await folder(), { pipeline: 'local', baseUrl: serve.url, settings });
      const told = await callMain(['search', job.config, ...words], { env: job.env });
      expect(told).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was paid') });
      const { stdout } = await callMain(['ledger', job.config, '--json'], { env: job.env });
      expect(jsonLines(stdout)).toMatchObject([
        { type: 'search', run: null, price: 0, rehearsal: true },
        { type: 'summary', records: 0, searches: 1, rehearsalSearches: 1, rehearsalRecords: 1, amount: 0 },
      ]);
      const table = await callMain(['ledger', job.config], { env: job.env });
      expect(table.stdout).toContain(
        '\n0 uploads, 0 records to pay, cost 0.00 USD\n1 record in rehearsals (0 uploads and 1 search) cost nothing\n',
      );
    } finally {
      await serve.stop();
    }
  });
});
