/** The commands plan, check, status, runs, publish and search, typed as a person would. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, type Job, killJobAt } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli, spawnCli } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const serve = useServe();
let job: Job;
const cli = (...args: string[]) => callMain(args, { env: job.env });
/** Runs the command in a process of its own, which must end by itself. */
const apart = (...args: string[]) => runCli(args, { env: job.env });

beforeAll(async () => {
  job = await createJob(await folder(), {
    baseUrl: serve.url,
    settings: { budget: { pricePerRecord: 0.5 } },
  });
});
describe('plan', () => {
  it('needs no network, writes nothing, and shows the chunks that a run then makes', async () => {
    const away = ['--base-url', 'http://127.0.0.1:9'];
    const plan = await apart('plan', job.config, '--json', ...away);
    const dryRun = await cli('run', '--dry-run', job.config, ...away);
    expect(plan.code, plan.stderr).toBe(0);
    const planned = jsonLines(plan.stdout);
    expect(planned).toHaveLength(1);
    expect(planned[0]).toMatchObject({
      type: 'summary',
      exitCode: 0,
      chunks: { count: 6, records: 60 },
      next: { kind: 'begin', chunks: 6, records: 60 },
      cost: { amount: 30, currency: 'USD' },
    });
    expect(dryRun).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/6 chunks with 60 records, \S+ KB to upload/),
    });
    expect(dryRun.stdout).toMatch(
      /30\.00 USD\ndisk\n {2}\S+: about \S+ MB for its output, .*\nnext\n {2}foliopipe run -c .*\.yaml .*begins a new run: 6 chunks/,
    );
    await expect(stat(job.stateDir)).rejects.toThrow('ENOENT');
    const odd = await cli('plan', job.config, '--json', ...away, '--set', 'budget.pricePerRecord=0.0055');
    expect(jsonLines(odd.stdout)[0]).toMatchObject({ cost: { amount: 0.33 } });

    const run = await cli('run', job.config, '--json');
    const { run: id, chunks } = jsonLines(run.stdout).at(-1) as { run: string; chunks: { all: number } };
    expect(chunks.all).toBe(6);
    const after = await cli('plan', job.config, '--json');
    expect(jsonLines(after.stdout)[0]).toMatchObject({ next: { kind: 'done', run: id, chunks: 0 } });
    expect((await cli('plan', job.config)).stdout).toMatch(
      /6 chunks with 60 records, \S+ KB in all, nothing to upload/,
    );
    const fresh = await cli('plan', job.config, '--json', '--new');
    expect(jsonLines(fresh.stdout)[0]).toMatchObject({ next: { kind: 'begin', chunks: 6 } });
  });

  it('warns as a run does, and of nothing else', async () => {
    const source = join(await folder(), 'headless.csv');
    await writeFile(source, 'Acme LLC,1 Main St,CA\nBolt Inc,2 Oak Ave,TX\nElm Cafe,3 Elm St,NY\n');
    const config = join(await folder(), 'headless.yaml');
    const columns = '{ name: Acme LLC, address: 1 Main St, state: CA }';
    await writeFile(
      config,
      `pipeline: headless\nsource: { path: ${source} }\nupload: { columns: ${columns} }\noutput: { path: headless.out.csv }\n`,
    );
    const { code, stderr } = await callMain(['plan', config], { env: {} });
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^\S+ \S+ WARN: the header of \S+headless\.csv looks like a record: .*\n$/);
  });

  it('shows what is left to do after a kill', async () => {
    const killed = await createJob(await folder(), { pipeline: 'killed', baseUrl: serve.url });
    await killJobAt(killed, 'after-accepted-before-poll:2', '--set', 'concurrency.uploads=1');
    const plan = await cli('plan', killed.config, '--json');
    expect(jsonLines(plan.stdout)[0]).toMatchObject({ next: { kind: 'continue', chunks: 4, records: 40 } });
    const capped = await cli('plan', killed.config, '--set', 'budget.perDay=35');
    expect(capped.stdout).toMatch(/6 chunks with 60 records, \S+ KB in all, 4 chunks to upload/);
    expect(capped.stdout).toContain('the run would stop after at most 15 records with exit 9');
    const spent = await cli('plan', killed.config, '--set', 'budget.perDay=20');
    expect(spent.stdout).toContain('the run would send nothing and end with exit 9');
    const status = await cli('status', killed.config);
    expect(status).toMatchObject({ code: 0, stdout: expect.stringMatching(/chunk 2: submitted, folio \w+/) });
    await writeFile(killed.source, 'BusinessName,Address,State,Note\nA,B,MT,\n');
    expect(await cli('plan', killed.config)).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(
        /cost\n {2}nothing: .*\nnext\n {2}.*has changed.* exit 4, and say .*; putting the source back costs nothing\n$/,
      ),
    });
  });
});

describe('check', () => {
  const faults = (stdout: string) =>
    jsonLines(stdout).flatMap(({ item, ok }) => (ok === false ? [item ?? 'summary'] : []));

  // Each command waits for the service, so they run at the same time.
  it.concurrent.each([
    ['all is well', [], 0, null, ''],
    ['the service is down', ['--base-url', 'http://127.0.0.1:9'], 5, 'service', 'nothing answers'],
    [
      'the output cannot be written',
      ['--output', '/dev/null/out/a.csv'],
      2,
      'output',
      'null is not a folder',
    ],
    ['the state cannot be written', ['--state-dir', '/dev/null/x'], 2, 'state', 'null is not a folder'],
    ['the source is missing', ['--source', 'absent.csv'], 4, 'source', 'no file has this name'],
  ])('%s', async (_, args, code, failing, why) => {
    const end = await apart('check', job.config, '--json', ...args);
    expect(end.code, end.stderr).toBe(code);
    expect(faults(end.stdout)).toEqual(failing === null ? [] : [failing, 'summary']);
    expect(end.stdout).toContain(why);
  });
});

describe('status and runs', () => {
  it('show a run while another process works on it', async () => {
    const held = await createJob(await folder(), { pipeline: 'held' });
    const child = spawnCli(['run', held.config, '--label', 'tonight'], { env: job.env });
    await child.waitFor('stderr', /fails and is tried again/);
    const [status, runs] = await Promise.all([apart('status', held.config), apart('runs', held.config)]);
    const json = await cli('status', held.config, '--json');
    expect(status).toMatchObject({ code: 0, stdout: expect.stringMatching(/is open\n {2}0 of 60 records/) });
    expect(jsonLines(json.stdout)).toMatchObject([{ type: 'summary', state: 'open', pipeline: 'held' }]);
    expect(runs.stdout).toMatch(/^run .*\n\S+ {2}\S+ \S+ +\S+ +60 +- +\d+ {2}open {2}tonight\n$/);
    child.kill('SIGKILL');
    await child.ended;
  });

  it('list the runs of this pipeline, newest first, or of all pipelines in the folder', async () => {
    const shared = ['--state-dir', job.stateDir];
    const other = await createJob(await folder(), { pipeline: 'other', baseUrl: serve.url, records: 10 });
    expect(await cli('run', other.config, ...shared)).toMatchObject({ code: 0 });
    const mine = await cli('runs', other.config, '--json', ...shared);
    const every = await cli('runs', other.config, '--json', '--all', ...shared);
    const named = (stdout: string) => jsonLines(stdout).map(({ pipeline, type }) => pipeline ?? type);
    expect(named(mine.stdout)).toEqual(['other', 'summary']);
    expect(named(every.stdout)).toEqual(['other', 'nightly', 'summary']);
    const unknown = await cli('status', job.config, '--run', 'nope');
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(/no run nope.*\n {2}next: /) });
  });
});

describe('publish', () => {
  it('writes the same bytes again without any request', async () => {
    const ran = await cli('run', job.config, '--json');
    const { run: id } = jsonLines(ran.stdout).at(-1) as { run: string };
    const before = await readFile(job.output);
    await rm(job.output);
    await serve.stop();
    const published = await apart('publish', id, job.config, '--json');
    expect(published.code, published.stderr).toBe(0);
    expect(jsonLines(published.stdout).at(-1)).toMatchObject({ run: id, state: 'done', exitCode: 0 });
    expect(await readFile(job.output)).toEqual(before);
    const elsewhere = join(job.folder, 'again.csv');
    expect(await cli('publish', id, job.config, '--output', elsewhere)).toMatchObject({ code: 0 });
    expect(await readFile(elsewhere)).toEqual(before);
    const unknown = await cli('publish', '20200101T000000-000000', job.config);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('next: ') });
    await writeFile(job.source, 'BusinessName,Address,State,Note\nA,B,MT,\n');
    expect(await cli('publish', id, job.config)).toMatchObject({ code: 4 });
    expect(await serve.served(`nightly-${id}-`)).toHaveLength(6);
  });
});

describe('search', () => {
  it('looks up one business by the legacy operation', async () => {
    const legacy = ['--set', `service.legacyBaseUrl=${serve.url}`];
    const name = ['--name', 'Twin Rivers Roofing', '--address', '9155 Higgins Ave', '--state', 'MT'];
    const text = await apart('search', job.config, ...legacy, ...name);
    const json = await cli('search', job.config, ...legacy, ...name, '--json');
    expect(text.code, text.stderr).toBe(0);
    const answer = JSON.parse(text.stdout) as object;
    expect(answer).toMatchObject({ response: { naics_code: expect.stringMatching(/^\d{6}$/) } });
    expect(jsonLines(json.stdout)).toMatchObject([{ type: 'summary', answer, rehearsal: true, exitCode: 0 }]);
    const without = await cli('search', job.config, ...name);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringMatching(/service\.legacyBaseUrl/) });
  });
});

describe('a command that asks no service', () => {
  it.each([
    ['plan'],
    ['run', '--dry-run'],
    ['status'],
    ['runs'],
    ['runs', 'prune', '--older-than', '1d'],
    ['ledger'],
    ['recover', '--dry-run'],
    ['reuse', 'show'],
    ['reuse', 'prune'],
    ['state', 'backup', 'DIR'],
  ])('needs no token: %s %s', async (...words) => {
    const args = words.map((word) => (word === 'DIR' ? join(job.folder, 'backup') : word));
    const end = await callMain([...args, '-c', job.config], { env: {} });
    expect(end, end.stderr).toMatchObject({ code: 0 });
  });

  it.each([['status'], ['runs'], ['ledger']])('needs no address: %s', async (command) => {
    const config = join(job.folder, 'no-service.yaml');
    const { service: _, ...sections } = JSON.parse(await readFile(job.config, 'utf8')) as Record<
      string,
      unknown
    >;
    await writeFile(config, JSON.stringify(sections));
    const end = await callMain([command, config], { env: {} });
    expect(end, end.stderr).toMatchObject({ code: 0 });
  });

  it('needs the address where it tells answers apart', async () => {
    const config = join(job.folder, 'no-service.yaml');
    const end = await callMain(['reuse', 'show', '-c', config], { env: {} });
    expect(end, end.stdout).toMatchObject({ code: 2, stderr: expect.stringContaining('service.baseUrl') });
    expect(end.stderr).not.toContain('service.token');
  });
});
