/** Data goes to stdout, everything else to stderr; the summary is last, and the token is nowhere. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, filesHolding, filesUnder, type Job } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { type CliEnd, jsonLines, runCli, spawnCli } from '../../helpers/processes/cli.js';
import { serveToken, useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const serve = useServe({ recordsPerSecond: 40 });

describe('--json', () => {
  it('stdout has only objects, progress first and the summary last; the log file has the same', async () => {
    const job = await createJob(await folder(), { pipeline: 'told', baseUrl: serve.url });
    const log = join(job.folder, 'logs', 'run.log');
    const args = [
      'run',
      job.config,
      '--json',
      '--log-format',
      'json',
      '--log-level',
      'debug',
      '--log-file',
      log,
    ];
    const end = await runCli(args, { env: job.env });
    expect(end.code, end.stderr).toBe(0);
    const told = jsonLines(end.stdout);
    expect(told.slice(0, -1).map(({ type }) => type)).toEqual(told.slice(0, -1).map(() => 'progress'));
    expect(told.at(-1)).toMatchObject({
      type: 'summary',
      exitCode: 0,
      pipeline: 'told',
      rehearsal: true,
      found: 'new',
      counts: { read: 60, rejected: 0, unprocessed: 0 },
      uploads: { accepted: 6, ambiguous: 0, resubmitted: 0 },
      output: { path: job.output, records: 60, bytes: (await stat(job.output)).size },
    });
    expect(jsonLines(end.stderr).length).toBeGreaterThan(6);
    const logged = jsonLines(await readFile(log, 'utf8'));
    expect(logged).toEqual(jsonLines(end.stderr));
    expect(logged[0]).toMatchObject({
      type: 'start',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      command: args.join(' '),
      config: { pipeline: 'told', service: { token: '[secret]' } },
    });
    expect(logged.at(-1)).toMatchObject({ type: 'summary', exitCode: 0, output: { records: 60 } });
    expect((await stat(log)).mode & 0o777).toBe(0o600);
    await expectNoToken(job, end);
  });

  it('without it stdout is empty; a JSON log ends with the summary', async () => {
    const job = await createJob(await folder(), { pipeline: 'text', baseUrl: serve.url });
    const first = await callMain(['run', job.config], { env: job.env });
    expect(first, first.stderr).toMatchObject({ code: 0, stdout: '' });
    expect(first.stderr).toMatch(/rehearsal \S+ is done\n {2}output {4}.*enriched\.csv\s+\(60 records/);
    const second = await callMain(['run', job.config, '--log-format', 'json'], { env: job.env });
    expect(second).toMatchObject({ code: 0, stdout: '' });
    expect(jsonLines(second.stderr).at(-1)).toMatchObject({ type: 'summary', level: 30, found: 'done' });
    await expectNoToken(job, first);
  });

  it('the summary is last after a signal, too', async () => {
    const job = await createJob(await folder(), { pipeline: 'stopped' });
    const child = spawnCli(['run', job.config, '--json'], { env: job.env });
    await child.waitFor('stderr', /fails and is tried again/);
    child.kill('SIGINT');
    const end = await child.ended;
    expect(jsonLines(end.stdout).at(-1)).toMatchObject({
      type: 'summary',
      exitCode: 130,
      run: expect.stringMatching(/^2\d{7}T\d{6}-/),
      stand: { pipeline: 'stopped', records: 60, paid: 0, fetched: 0, open: { folios: 0 } },
      error: { code: 'INTERRUPTED', resume: `foliopipe run ${job.config} --json` },
    });
    await expectNoToken(job, end);
  });
});

describe('the token', () => {
  it('is in no output and no file, even if the service repeats it in its errors', async () => {
    const body = JSON.stringify({ message: `the token ${serveToken} is not known` });
    const service = await openFakeService({ trouble: () => ({ kind: 'answer', status: 401, body }) });
    const job = await createJob(await folder(), { pipeline: 'repeated', baseUrl: service.url });
    const args = ['run', job.config, '--log-level', 'debug', '--log-file', join(job.folder, 'run.log')];
    const end = await callMain(args, { env: job.env });
    expect(end).toMatchObject({ code: 7, stderr: expect.stringMatching(/the token \[token\] is not known/) });
    await expectNoToken(job, end);
    await service.close();
  });

  it('is not in the answer of a search that repeats the request', async () => {
    const body = JSON.stringify({ asked: { name: 'Elm', token: serveToken }, naics_code: '238160' });
    const service = await openFakeService({ trouble: () => ({ kind: 'answer', status: 200, body }) });
    const job = await createJob(await folder(), { pipeline: 'searched', baseUrl: service.url });
    const legacy = ['--set', `service.legacyBaseUrl=${service.url}`];
    for (const flags of [[], ['--json']]) {
      const args = ['search', job.config, ...legacy, '--name', 'Elm', ...flags];
      const end = await callMain(args, { env: job.env });
      expect(end, end.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('238160') });
      await expectNoToken(job, end);
    }
    await service.close();
  });

  it('is not in the process list while a run works', async () => {
    const job = await createJob(await folder(), { pipeline: 'listed' });
    const child = spawnCli(['run', job.config], { env: job.env });
    await child.waitFor('stderr', /fails and is tried again/);
    expect(await readFile(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain(serveToken);
    child.kill('SIGKILL');
    await expectNoToken(job, await child.ended);
  });
});

/** Searches everything that a run leaves: state, chunks, parts, output, manifest, marker, log. */
async function expectNoToken(job: Job, end: Omit<CliEnd, 'signal'>): Promise<void> {
  expect(end.stdout + end.stderr).not.toContain(serveToken);
  expect(await filesUnder(job.folder)).toContain('state/checkpoint.db');
  expect(await filesHolding(job.folder, serveToken)).toEqual([]);
}
