/** Records that failed finally are looked up by the single-record search: once each, counted, and kept across kills. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type ConfigError, parseConfig, planRetry } from '../../../pipelines/index.js';
import {
  expectPredicted,
  expectSameWhenPublished,
  failedIn,
  failing,
  failingSetup,
  withLatestRun,
} from '../../helpers/jobs/failing-job.js';
import {
  failingName,
  fineNames,
  type LocalJob,
  predictedCode,
  withLocalJob,
} from '../../helpers/jobs/local-job.js';
import { killCliAt } from '../../helpers/processes/cli.js';

const rescueColumns = { naics_code: 'response.naics_code', naics_title: 'response.naics_title' };
const rescue = { tolerate: '100%', rescue: 'search', rescueColumns };

/** The address of the search is known only after the service is open. */
function rescuing(job: LocalJob, failures: object = rescue): Readonly<Record<string, object>> {
  return { failures, service: { legacyBaseUrl: job.config().service.baseUrl! } };
}

const rules = [failing('30%', 3)];

describe('the search for failed records', () => {
  it('fills the columns that the search has, for the price of one record each', async () => {
    const config = { output: { lineage: true } };
    await withLocalJob(failingSetup(rules, config), async (job) => {
      const summary = await job.enrich(rescuing(job));
      const failed = (await searchesOf(job)).map(({ record }) => record);
      expect(failed.length).toBeGreaterThan(3);
      await expectPredicted(job);
      const searches = { answered: failed.length, ambiguous: 0 };
      expect(summary).toMatchObject({ exitCode: 0, searches, counts: { successful: 30, failed: 0 } });
      const rows = await job.rows();
      for (const [at, row] of rows.entries()) {
        const isSearched = failed.includes(at + 1);
        expect(row.prediction_naics_title).not.toBe('');
        expect(row.prediction_confidence === '', `record ${at + 1}`).toBe(isSearched);
        expect(row.prediction_folio === '' && row.prediction_part === '').toBe(isSearched);
        expect(row.prediction_record).toBe(String(at + 1));
      }
      const spent = await withLatestRun(job, (reader, run) => reader.spending('nightly', run, '2026-11-21'));
      expect(spent.run).toBe(30 + failed.length);
      const manifest = JSON.parse(await readFile(`${job.output}.manifest.json`, 'utf8'));
      expect(manifest.uploads).toMatchObject({ accepted: 3, searches: failed.length });
      await expectSameWhenPublished(job);
    });
  });

  it('runs after the rounds, and includes records that the service refused in files', async () => {
    const names = fineNames(30).map((name, at) =>
      at === 20 ? failingName(at) : at === 25 ? 'Very Bad, Inc' : name,
    );
    const bad = { on: 'upload', contains: 'Very Bad', fault: { status: 422 } };
    await withLocalJob({ ...failingSetup([...rules, bad]), names }, async (job) => {
      const summary = await job.enrich(rescuing(job, { ...rescue, rounds: 1 }));
      expect(summary.counts).toMatchObject({ successful: 29, failed: 1 });
      const rows = await job.rows();
      // The search finds nothing for record 21, either; that answer costs nothing.
      expect(rows[20]).toMatchObject({ prediction_status: 'FAILED' });
      expect(rows[25]).toMatchObject({
        prediction_status: 'SUCCESSFUL',
        prediction_error_code: '',
        prediction_error: '',
        prediction_naics_code: predictedCode('Very Bad, Inc'),
        prediction_confidence: '',
      });
      const kept = await searchesOf(job);
      expect(kept.map(({ record, state }) => [record, state])).toEqual([
        [21, 'dropped'],
        [26, 'answered'],
      ]);
      // Record 26 is neither sent again as refused nor as found.
      const by = 'upload';
      expect(await planRetry(job.config(), summary.run, { by })).toMatchObject({ by, records: 1, held: 0 });
      await expectSameWhenPublished(job);
    });
  });

  it('brings the columns if nothing succeeded, but the pipeline does not learn them', async () => {
    await withLocalJob(failingSetup([failing('100%', 3)]), async (job) => {
      const summary = await job.enrich(rescuing(job));
      expect(summary.columns).toEqual(['naics_code', 'naics_title']);
      await expectPredicted(job);
      await expectSameWhenPublished(job);
      await job.restartService([]);
      const next = await job.enrich({}, { fresh: true });
      expect(next.columns).toEqual(['naics_code', 'naics_title', 'confidence']);
    });
  });

  it('leaves a record FAILED if the reply has none of the columns', async () => {
    await withLocalJob(failingSetup(rules), async (job) => {
      const strange = { ...rescue, rescueColumns: { naics_code: 'result.0.code' } };
      const summary = await job.enrich(rescuing(job, strange));
      const failed = failedIn(await readFile(job.output));
      expect(failed.length).toBe(summary.searches.answered);
      expect((await searchesOf(job)).every(({ values }) => values === null)).toBe(true);
    });
  });

  it('refuses columns that the results do not have, before any request', async () => {
    await withLocalJob(failingSetup(rules), async (job) => {
      const wrong = { ...rescue, rescueColumns: { code: 'response.naics_code' } };
      const error = await job.failure(rescuing(job, wrong));
      expect(error).toMatchObject({ exitCode: 2, code: 'RESCUE_COLUMNS_UNKNOWN' });
      expect(await searchesOf(job)).toEqual([]);
      await job.enrich(rescuing(job));
      await expectPredicted(job);
    });
  });

  it('refuses columns that result.columns does not have, before anything is paid', async () => {
    await withLocalJob(failingSetup(rules), async (job) => {
      const wrong = { ...rescue, rescueColumns: { code: 'response.naics_code' } };
      const declared = { columns: ['naics_code', 'naics_title', 'confidence'] };
      const config = { ...rescuing(job, wrong), result: declared };
      expect(() => job.config(config)).toThrow(
        /failures\.rescueColumns: result\.columns has no code; it has naics_code, naics_title, confidence/,
      );
      const adding = { ...config, result: { ...declared, onChange: 'add' as const } };
      expect(() => job.config(adding)).not.toThrow();
    });
  });

  it('begins no search within a pause of the service', async () => {
    await withLocalJob(failingSetup(rules), async (job) => {
      const order: string[] = [];
      const requests = {
        wait: async (_: AbortSignal, operation: string) => void order.push(operation),
        ready: async () => void order.push(`${(await searchesOf(job)).length} begun`),
        pause: () => undefined,
      };
      const summary = await job.enrich(
        { ...rescuing(job), concurrency: { uploads: 1 } },
        { limits: { requests } },
      );
      const searches = order.slice(order.indexOf('search') - 1).slice(0, 4);
      expect(searches).toEqual(['0 begun', 'search', '1 begun', 'search']);
      expect(summary.searches.answered).toBeGreaterThan(1);
    });
  });

  it('takes a search back while the service asks to wait, and sends it after that', async () => {
    const asksToWait = { on: 'search', calls: 2, fault: { status: 503, retryAfter: '10s' } };
    await withLocalJob(failingSetup([...rules, asksToWait]), async (job) => {
      const seen: string[] = [];
      const requests = {
        wait: async () => undefined,
        ready: async () => void seen.push((await searchesOf(job)).map(({ state }) => state).join(' ')),
        pause: () => undefined,
      };
      const config = { ...rescuing(job), concurrency: { uploads: 1 } };
      const { searches } = await job.enrich(config, { limits: { requests } });
      const from = seen.indexOf('answered');
      expect(seen.slice(from, from + 3)).toEqual(['answered', 'answered dropped', 'answered answered']);
      expect(searches).toEqual({ answered: (await searchesOf(job)).length, ambiguous: 0 });
      await expectPredicted(job);
    });
  });

  it('takes a search back that is about to be sent when the lock may have passed to another process', async () => {
    await withLocalJob(failingSetup(rules), async (job) => {
      const states: string[] = [];
      let searches = 0;
      const requests = {
        wait: async (_: AbortSignal, operation: string) => {
          if (operation === 'search') searches += 1;
        },
        ready: async () => void states.push((await searchesOf(job)).map(({ state }) => state).join(' ')),
        pause: () => undefined,
      };
      const held = { isHeld: () => searches !== 2, close: async () => undefined };
      const config = { ...rescuing(job), concurrency: { uploads: 1 } };
      const summary = await job.enrich(config, { limits: { requests }, lock: { take: async () => held } });
      const from = states.indexOf('answered');
      expect(states.slice(from, from + 3)).toEqual(['answered', 'answered dropped', 'answered answered']);
      expect(summary.searches).toEqual({ answered: (await searchesOf(job)).length, ambiguous: 0 });
      await expectPredicted(job);
    });
  });

  it('stops in an outage, and goes on without a second request for a record', async () => {
    const out = { on: 'search', calls: { from: 4 }, fault: { status: 503 } };
    const config = { retry: { giveUpAfter: '100ms' } };
    await withLocalJob(failingSetup([...rules, out], config), async (job) => {
      const error = await job.failure(rescuing(job));
      expect(error).toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE' });
      const before = await searchesOf(job);
      expect(before.filter(({ state }) => state === 'answered')).toHaveLength(3);
      await job.restartService([]);
      await job.enrich(rescuing(job));
      await expectPredicted(job);
      const after = await searchesOf(job);
      expect(after.every(({ state }) => state === 'answered')).toBe(true);
      expect(after.slice(0, 3)).toEqual(before.slice(0, 3));
    });
  });

  it('never repeats a search that may have been paid, and says so', async () => {
    const lost = { on: 'search', calls: 2, fault: { cut: 'in-reply' } };
    await withLocalJob(failingSetup([...rules, lost]), async (job) => {
      const summary = await job.enrich(rescuing(job));
      expect(summary.searches.ambiguous).toBe(1);
      expect(summary.ambiguousRecords).toBe(1);
      const ambiguous = (await searchesOf(job)).filter(({ state }) => state === 'ambiguous');
      await expectPredicted(
        job,
        ambiguous.map(({ record }) => record),
      );
      const spent = await withLatestRun(job, (reader, run) => reader.spending('nightly', run, '2026-11-21'));
      expect(spent.run).toBe(30 + summary.searches.answered + 1);
    });
  });

  it('stops after several unreadable replies, and the run is published without searches', async () => {
    const pages = { on: 'search', fault: { html: true } };
    await withLocalJob(failingSetup([failing('100%', 3), pages]), async (job) => {
      expect(await job.failure(rescuing(job))).toMatchObject({ exitCode: 6, code: 'SEARCHES_UNREADABLE' });
      const asked = await searchesOf(job);
      // Two searches run at once.
      expect(asked.length).toBeGreaterThanOrEqual(3);
      expect(asked.length).toBeLessThanOrEqual(4);
      expect(new Set(asked.map(({ state }) => state))).toEqual(new Set(['ambiguous']));
      expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { failed: 30 } });
      expect(await searchesOf(job)).toEqual(asked);
    });
  });

  it('ends at once after a redirect, which may have been paid', async () => {
    const elsewhere = { on: 'search', calls: 1, fault: { status: 302 } };
    const one = { concurrency: { uploads: 1 } };
    await withLocalJob(failingSetup([...rules, elsewhere], one), async (job) => {
      expect(await job.failure(rescuing(job))).toMatchObject({ exitCode: 7, code: 'SERVICE_REDIRECTS' });
      expect((await searchesOf(job)).map(({ state }) => state)).toEqual(['ambiguous']);
    });
  });

  it('keeps to the budget', async () => {
    await withLocalJob(failingSetup(rules, { budget: { perRun: 32 } }), async (job) => {
      expect(await job.failure(rescuing(job))).toMatchObject({ exitCode: 9, code: 'BUDGET_REACHED' });
      expect((await searchesOf(job)).map(({ state }) => state)).toEqual(['answered', 'answered']);
      await job.enrich({ ...rescuing(job), budget: { perRun: 100 } });
      await expectPredicted(job);
    });
  });

  it('skips a record without a name', async () => {
    const names = fineNames(30).map((name, at) => (at === 20 ? '' : name));
    await withLocalJob({ ...failingSetup([]), names }, async (job) => {
      const summary = await job.enrich(rescuing(job));
      expect(summary).toMatchObject({ searches: { answered: 0, ambiguous: 0 }, counts: { failed: 1 } });
      expect(await searchesOf(job)).toEqual([]);
    });
  });
});

describe('a search that is killed', () => {
  it.each([
    ['after-search-intent-before-post:3', 1],
    ['after-search-post-before-commit:3', 1],
    ['after-search-before-next:3', 0],
  ] as const)('at %s makes no request twice', async (armed, ambiguous) => {
    await withLocalJob(failingSetup(rules), async (job) => {
      const { failures, service } = rescuing(job) as { failures: object; service: { legacyBaseUrl: string } };
      const flags = [
        ...['--set', `service.legacyBaseUrl=${service.legacyBaseUrl}`],
        ...['--set', 'failures.rescue=search'],
        ...Object.entries(rescueColumns).flatMap(([column, path]) => [
          '--set',
          `failures.rescueColumns.${column}=${path}`,
        ]),
      ];
      expect(failures).toBe(rescue);
      await killCliAt(armed, ['run', job.file, ...flags]);
      const summary = await job.enrich(rescuing(job));
      const unanswered = (await searchesOf(job)).filter(({ state }) => state !== 'answered');
      expect(unanswered).toMatchObject(Array.from({ length: ambiguous }, () => ({ state: 'ambiguous' })));
      await expectPredicted(
        job,
        unanswered.map(({ record }) => record),
      );
      expect(summary).toMatchObject({ found: 'continued', exitCode: 0, searches: { ambiguous } });
    });
  });
});

it('a config with the search must have its address and its columns', () => {
  const parse = (changes: object) =>
    parseConfig(
      {
        pipeline: 'p',
        source: { path: 'a.csv' },
        upload: { columns: { street: 'Street' } },
        service: { baseUrl: 'https://service.test', token: 't' },
        output: { path: 'b.csv' },
        failures: { rescue: 'search' },
        ...changes,
      },
      '/base',
    );
  expect(problemsOf(() => parse({}))).toEqual({
    'failures.rescueColumns': expect.stringContaining('such as { naics_code'),
    'service.legacyBaseUrl': expect.stringContaining('searched'),
    'upload.columns': expect.stringContaining('sent column called name'),
  });
  expect(problemsOf(() => parse({ failures: { rescueColumns: { a: 'x..y' } } }))).toEqual({
    'failures.rescueColumns.a': expect.stringContaining('a field of the search reply'),
  });
  const upload = { columns: { name: 'Name' } };
  const config = parse({ upload, service: { embedded: true }, failures: rescue });
  expect(config.failures).toMatchObject({ rescue: 'search', rescueColumns });
});

function problemsOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return (error as ConfigError).facts;
  }
  return undefined;
}

const searchesOf = (job: LocalJob) => withLatestRun(job, (reader, run) => reader.searches(run, 0, 500));
