/** Two nights with the command: the balance by origin and what was saved, everywhere a person or a program looks. */
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type FakeService, openFakeService } from '../../fake-service/fake-service.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createJob, filesUnder, type Job, sourceText } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';

const folder = useFolder();
let service: FakeService;
beforeAll(async () => {
  service = await openFakeService();
});
afterAll(() => service.close());

const price = { pricePerRecord: 0.004, currency: 'USD' };

it('a second night: summary, manifest, plan, status, ledger and runs agree', async () => {
  const job = await createDeltaJob({});
  vi.stubEnv('TMPDIR', job.folder);
  const plannedFirst = await json(job, 'plan');
  vi.unstubAllEnvs();
  expect(plannedFirst).toMatchObject({
    chunks: { count: 6, records: 60 },
    reuse: { reused: { successful: 0, failed: 0 }, sent: 60, equal: 11, stops: null },
    cost: { amount: 0.24 },
  });
  expect(plannedFirst.preview.records).toHaveLength(3);
  expect((await filesUnder(job.folder)).sort()).toEqual(['job.yaml', 'source.csv']);
  const first = await json(job, 'run');
  expect(first).toMatchObject({
    origins: { sent: { records: 60, ...ended(first) }, reused: none, duplicates: none },
    saved: { records: 0, amount: 0, currency: 'USD' },
    outdated: 0,
  });

  // Two names and a column that is not sent are changed, and one record is new.
  const changed = `${sourceText(60)}New Shop,1 New St,MT,new\n`
    .replace('Hardware 1,', 'Hardware One,')
    .replace('Inc. 2"', 'Inc. Two"')
    .replaceAll('plain', 'fancy');
  await writeFile(job.source, changed);
  const store = join(job.stateDir, 'reuse');
  const before = await filesUnder(store);
  const planned = await json(job, 'plan');
  expect(planned).toMatchObject({
    chunks: { count: 1, records: 3 },
    reuse: {
      sent: 3,
      duplicates: 0,
      outdated: 0,
      equal: 0,
      saved: { records: 58, amount: 0.232 },
      stops: null,
    },
    next: { kind: 'begin', chunks: 1, records: 3 },
    cost: { amount: 0.012 },
  });
  expect(planned.preview).toEqual({
    columns: ['record_id', 'name', 'address', 'state'],
    records: [
      ['1', 'Harbor Hardware One', '1 Main St', 'MT'],
      ['2', 'Zamora, Inc. Two', '2 Oak Ave, Suite 5', 'MA'],
      ['61', 'New Shop', '1 New St', 'MT'],
    ],
  });
  expect(await filesUnder(store)).toEqual(before);
  const text = await said(job, 'plan');
  expect(text).toContain('\nreuse\n  58 reused + 0 duplicates, 3 to send: 0.23 USD would be saved\n');

  const uploads = service.folios.length;
  const { code, stderr } = await callMain(['run', job.config], { env: job.env });
  expect(code, stderr).toBe(0);
  expect(service.folios.slice(uploads).map(({ records }) => records.length)).toEqual([3]);
  expect(stderr).toContain('\n  reuse     58 reused + 0 duplicates, 3 sent: 0.23 USD saved\n');
  const status = await json(job, 'status');
  const { origins, saved } = status;
  expect(origins.sent.records).toBe(3);
  expect(origins.reused).toEqual({ records: 58, ...ended({ counts: origins.reused }) });
  expect(origins.duplicates).toEqual(none);
  for (const key of ['successful', 'failed', 'unprocessed']) {
    expect(origins.sent[key] + origins.reused[key]).toBe(status.counts[key]);
  }
  expect(saved).toEqual({ records: 58, amount: 0.232, currency: 'USD' });
  expect(await said(job, 'status')).toContain('58 reused + 0 duplicates, 3 sent: 0.23 USD saved');
  const manifest = JSON.parse(await readFile(status.manifest, 'utf8'));
  expect(manifest).toMatchObject({ origins, saved });
  expect(manifest.reuse).toEqual({
    segments: [`${first.run}-1`],
    epoch: '',
    maxAge: 90 * 24 * 3_600_000,
    failedAge: 7 * 24 * 3_600_000,
    outdated: 0,
  });

  expect(await json(job, 'ledger')).toMatchObject({
    records: 63,
    amount: 0.252,
    reused: 58,
    duplicates: 0,
    saved: { records: 58, amount: 0.232 },
  });
  const ledger = await said(job, 'ledger');
  expect(ledger).toMatch(/\n58 records took a known answer: 0\.23 USD not paid\n$/);
  expect(ledger).toMatch(/\n\S+ {2}nightly\n(?: {2}\S+ \S+ {2,}\d+ {2,}1 {2,}\d+ {2,}\d\.\d\d {2,}\S+\n)+/);
  expect(Math.max(...ledger.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(await json(job, 'ledger', '--month', '2001-01')).toMatchObject({ reused: 0, saved: { amount: 0 } });
  const [header, last] = (await said(job, 'runs')).split('\n');
  expect(header).toMatch(/^run +start +took +records +sent +failed +cost +end$/);
  expect(last).toMatch(/^\S+ {2}\d{4}-\d\d-\d\d \d\d:\d\d +\d+m?s +61 +3 +\d+ +0\.01 {2}exit 0$/);
  const plannedDone = await json(job, 'plan');
  expect(plannedDone).toMatchObject({ reuse: null, next: { kind: 'done', records: 0 } });
});

it('nothing new: no upload, an output published, exit 0, and a plan of nothing', async () => {
  const job = await createDeltaJob({});
  await json(job, 'run');
  await writeFile(job.source, sourceText(60).replaceAll('plain', 'fancy'));
  expect(await json(job, 'plan')).toMatchObject({
    chunks: { count: 0, records: 0, bytes: 0 },
    next: { kind: 'begin', chunks: 0, records: 0 },
    cost: { amount: 0 },
  });
  await rm(job.output);
  const uploads = service.folios.length;
  const { code, stderr } = await callMain(['run', job.config], { env: job.env });
  expect(code, stderr).toBe(0);
  expect(service.folios.length).toBe(uploads);
  expect(stderr).toContain(' is done; every answer was known, and nothing was sent\n  output ');
  expect(stderr).toContain('\n  reuse     60 reused + 0 duplicates, 0 sent: 0.24 USD saved\n');
  expect(existsSync(job.output)).toBe(true);
  await writeFile(job.source, sourceText(61));
  expect(await json(job, 'plan')).toMatchObject({ reuse: { sent: 1, unkept: 0 } });
});

it('a plan says that reuse.maxMiss would stop the run, and that --yes passes', async () => {
  const job = await createDeltaJob({});
  await json(job, 'run');
  await writeFile(job.source, sourceText(60).replaceAll('Main St', 'Side St').replaceAll('Oak', 'Elm'));
  expect(await json(job, 'plan')).toMatchObject({ reuse: { stops: null, sent: 24 } });
  const strict = ['--set', 'reuse.maxMiss=10%'];
  expect(await json(job, 'plan', ...strict)).toMatchObject({ reuse: { stops: 'REUSE_MISS' } });
  expect(await said(job, 'plan', ...strict)).toMatch(
    /is new: the run would end with REUSE_MISS, exit 9\n.*\n {2}foliopipe run \S+.* --yes begins a new run and buys what is new: .*; without --yes it ends with REUSE_MISS/s,
  );
  expect(await json(job, 'plan', '--yes', ...strict)).toMatchObject({ reuse: { stops: null } });
  expect((await callMain(['run', job.config, ...strict], { env: job.env })).code).toBe(9);
});

it('a plan says that earlier runs have answers that are not in the store yet', async () => {
  const job = await createDeltaJob({ reuse: { maxAge: 0 } });
  await json(job, 'run');
  await writeFile(job.source, sourceText(61));
  expect(await json(job, 'plan')).toMatchObject({ reuse: null, next: { records: 61 } });
  const on = ['--set', 'reuse.maxAge=90d', '--set', 'reuse.maxMiss=100%'];
  expect(await json(job, 'plan', ...on)).toMatchObject({ reuse: { sent: 61, unkept: 1 } });
  const once = ['--set', 'upload.duplicates=once'];
  expect(await json(job, 'plan', ...once)).toMatchObject({
    reuse: { duplicates: 11, saved: { records: 11, amount: 0.044 }, unkept: 0 },
  });
  expect(await json(job, 'plan', ...once, ...on, '--no-reuse')).toMatchObject({ reuse: { unkept: 0 } });
  expect(await said(job, 'plan', ...on)).toContain(
    '\n  the answers of 1 earlier run are not in the store yet',
  );
});

it('an open run goes on with what it has chosen: plan and status count what it sends', async () => {
  const job = await createDeltaJob({ concurrency: { uploads: 1 } });
  await json(job, 'run');
  await writeFile(job.source, sourceText(60).replaceAll('Main St', 'Side St').replaceAll('Oak', 'Elm'));
  // 60 records of the first night and one chunk of ten.
  const limited = ['--set', 'budget.perDay=75'];
  const stopped = await callMain(['run', job.config, ...limited], { env: job.env });
  expect(stopped.code, stopped.stderr).toBe(9);
  expect(stopped.stderr).toContain('budget.perDay leaves 15 of the 24 records to send');
  expect(await json(job, 'plan', ...limited)).toMatchObject({
    chunks: { count: 3, records: 24 },
    reuse: { sent: 24, reused: { failed: 0, successful: 36 }, stops: null },
    next: { kind: 'continue', chunks: 2, records: 14 },
    cost: { amount: 0.056 },
    budget: [{ cap: 'perDay', spent: 70, left: 5 }],
  });
  expect(await json(job, 'plan', '--set', 'budget.perRun=30')).toMatchObject({
    budget: [{ cap: 'perRun', spent: 10, left: 20 }],
  });
  expect(await json(job, 'status')).toMatchObject({
    state: 'open',
    origins: { sent: { records: 24 }, reused: { records: 36 }, duplicates: none },
  });
  const status = await said(job, 'status');
  expect(status).toMatch(/\n {2}\d+ of 24 records to send; .*chunks: .*; \d+ of 60 rows written\n/);
  expect(status).toContain('\n  reuse     36 reused + 0 duplicates, 24 to send: 0.14 USD saved\n');
  expect(await json(job, 'run')).toMatchObject({
    found: 'continued',
    origins: { sent: { records: 24 }, reused: { records: 36 } },
  });
});

const none = { records: 0, successful: 0, failed: 0, unprocessed: 0 };

async function createDeltaJob(settings: Readonly<Record<string, object>>): Promise<Job> {
  const job = await createJob(await folder(), {
    baseUrl: service.url,
    settings: { reuse: { maxAge: '90d' }, budget: price, ...settings },
  });
  return { ...job, env: { FOLIOPIPE_TOKEN: service.token } };
}

// biome-ignore lint/suspicious/noExplicitAny: the summary of any command
async function json(job: Job, command: string, ...args: readonly string[]): Promise<any> {
  const end = await callMain([command, job.config, '--json', ...args], { env: job.env });
  expect(end.code, end.stderr).toBe(0);
  return jsonLines(end.stdout).at(-1);
}

async function said(job: Job, command: string, ...args: readonly string[]): Promise<string> {
  const end = await callMain([command, job.config, ...args], { env: job.env });
  expect(end.code, end.stderr).toBe(0);
  return end.stdout;
}

/** How records ended, without any that is open. */
function ended({ counts: { successful, failed } }: { counts: { successful: number; failed: number } }) {
  return { successful, failed, unprocessed: 0 };
}
