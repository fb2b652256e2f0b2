/** The first signal stops the run resumably and loses nothing that was paid; the second stops it at once. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, type Job } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli, spawnCli } from '../../helpers/processes/cli.js';
import { openServe, type Serve, servedFolios } from '../../helpers/service/serve.js';
import { openUploadProxy, type UploadProxy } from '../../helpers/service/upload-proxy.js';

const folder = useSharedFolder();
const chunks = 6;
let serve: Serve;
let dataDir: string;
let count = 0;

const restart = async (recordsPerSecond: number) => {
  serve = await openServe(dataDir, { port: serve?.port ?? 0, recordsPerSecond });
};

describe('while folios are polled', () => {
  beforeEach(async () => {
    dataDir = join(await folder(), `polled-${++count}`);
    serve = await openServe(dataDir, { recordsPerSecond: 0.01 });
  });

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 143],
  ] as const) {
    it(`${signal} ends with ${code}, leaves the folios alone and prints the command that goes on`, async () => {
      const settings = { concurrency: { folios: 3 } };
      const job = await createJob(await folder(), { pipeline: `p-${signal}`, baseUrl: serve.url, settings });
      const child = spawnCli(['run', job.config, '--log-level', 'debug', '--new'], { env: job.env });
      await child.waitFor('stderr', /chunk 3 submitted as folio/);
      child.kill(signal);
      const { code: ended, stdout, stderr } = await child.ended;
      expect(ended, stderr).toBe(code);
      expect(stdout).toBe('');
      expect(stderr).toMatch(new RegExp(`${signal}: stopping`));
      expect(stderr).toMatch(/\[INTERRUPTED\]\n {2}so far: /);
      const told = /\n {2}go on with: foliopipe (.+)\n/.exec(stderr)?.[1];
      expect(told).toBe(`run ${job.config} --log-level debug`);

      expect(await status(job)).toMatchObject({
        state: 'open',
        chunks: { byState: { submitted: 3, uploading: 0, ambiguous: 0 } },
      });
      await serve.stop();
      expect(servedFolios(dataDir)).toHaveLength(3);
      await restart(0);
      const end = await runCli(told!.split(' '), { env: job.env });
      expect(end.code, end.stderr).toBe(0);
      expect(end.stderr).toMatch(/continuing run \S+ of \S+ ago.* left, 3 folios open/);
      await serve.stop();
      expect(servedFolios(dataDir)).toHaveLength(chunks);
    });
  }

  it('a second signal ends at once, and says how the run stands and what goes on with it', async () => {
    const proxy = await openUploadProxy(serve.url);
    const job = await createJob(await folder(), { pipeline: 'twice', baseUrl: proxy.url });
    // As npx starts a command: without npx in front, the shell would not find it.
    const env = { ...job.env, npm_command: 'exec', npm_lifecycle_script: 'foliopipe run' };
    const child = spawnCli(['run', job.config, '--json', '--no-color', '--new'], { env });
    await proxy.accepted(1);
    await child.waitFor('stdout', /"type":"progress"/);
    child.kill('SIGTERM');
    await child.waitFor('stderr', /SIGTERM: stopping/);
    child.kill('SIGINT');
    // The replies are still held: a process that waited for them would not end.
    const { code, stderr } = await child.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /interrupted by SIGINT again: this process ends at once\. So far: run \S+: nothing is/,
    );
    expect(stderr.trimEnd().split('. Go on with: ').at(-1)).toBe(`npx foliopipe run ${job.config} --json`);
    await proxy.close();
    await serve.stop();
  });
});

describe('while uploads are in flight', () => {
  let proxy: UploadProxy;

  beforeEach(async () => {
    dataDir = join(await folder(), `held-${++count}`);
    serve = await openServe(dataDir);
    proxy = await openUploadProxy(serve.url);
  });
  afterEach(async () => {
    await proxy.close();
  });

  it('SIGTERM waits for their replies, keeps the folios and starts no other upload', async () => {
    const settings = { concurrency: { uploads: 2 } };
    const job = await createJob(await folder(), { pipeline: 'held', baseUrl: proxy.url, settings });
    const child = spawnCli(['run', job.config], { env: job.env });
    await proxy.accepted(2);
    child.kill('SIGTERM');
    await child.waitFor('stderr', /SIGTERM: stopping/);
    // Long enough for a client that does not wait to close its connections.
    await sleep(1_000);
    proxy.release();
    const { code, stderr } = await child.ended;
    expect(code, stderr).toBe(143);
    expect(proxy.uploads).toBe(2);
    expect(await status(job)).toMatchObject({
      chunks: { byState: { submitted: 2, uploading: 0, ambiguous: 0 } },
      uploads: { accepted: 2, ambiguous: 0 },
    });
    expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
    await serve.stop();
    expect(servedFolios(dataDir)).toHaveLength(chunks);
  });

  it('a closed terminal (SIGHUP, and nobody reads) waits for them, too, even after several SIGHUPs', async () => {
    const settings = { concurrency: { uploads: 2 } };
    const job = await createJob(await folder(), { pipeline: 'hung-up', baseUrl: proxy.url, settings });
    const logFile = join(job.folder, 'run.log');
    const args = ['run', job.config, '--json', '--log-level', 'debug', '--log-file', logFile];
    const child = spawnCli(args, { env: job.env });
    await proxy.accepted(2);
    child.stopReading();
    child.kill('SIGHUP');
    await expect.poll(() => readFile(logFile, 'utf8')).toContain('SIGHUP: stopping');
    child.kill('SIGHUP');
    await sleep(500);
    proxy.release();
    const { code, signal } = await child.ended;
    expect({ code, signal }).toEqual({ code: 143, signal: null });
    expect(proxy.uploads).toBe(2);
    expect(await readFile(logFile, 'utf8')).toMatch(/stderr can no longer be written \(EPIPE\)/);
    expect(await status(job)).toMatchObject({
      chunks: { byState: { submitted: 2, uploading: 0, ambiguous: 0 } },
      uploads: { accepted: 2, ambiguous: 0 },
    });
    expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
    await serve.stop();
    expect(servedFolios(dataDir)).toHaveLength(chunks);
  });

  it('SIGTERM after a SIGHUP ends at once', async () => {
    const job = await createJob(await folder(), { pipeline: 'hung-up-twice', baseUrl: proxy.url });
    const child = spawnCli(['run', job.config], { env: job.env });
    await proxy.accepted(1);
    child.kill('SIGHUP');
    await child.waitFor('stderr', /SIGHUP: stopping/);
    child.kill('SIGTERM');
    expect(await child.ended).toMatchObject({ code: 143 });
    await serve.stop();
  });

  it('under nohup the run ignores SIGHUP', async () => {
    const job = await createJob(await folder(), { pipeline: 'nohup', baseUrl: proxy.url });
    // This is how a shell tells the name of the command.
    const child = spawnCli(['run', job.config], { env: { ...job.env, _: '/usr/bin/nohup' } });
    await proxy.accepted(1);
    child.kill('SIGHUP');
    await sleep(300);
    proxy.release();
    const { code, stderr } = await child.ended;
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('SIGHUP');
    await serve.stop();
    expect(servedFolios(dataDir)).toHaveLength(chunks);
  });

  it('SIGTERM gives up after timeouts.shutdown; the uploads are reported as ambiguous', async () => {
    const settings = { concurrency: { uploads: 1 }, timeouts: { shutdown: '200ms' } };
    const job = await createJob(await folder(), { pipeline: 'impatient', baseUrl: proxy.url, settings });
    const child = spawnCli(['run', job.config], { env: job.env });
    await proxy.accepted(1);
    child.kill('SIGTERM');
    const { code, stderr } = await child.ended;
    expect(code, stderr).toBe(143);
    const { chunks: told, uploads } = await status(job);
    expect(told).toMatchObject({ byState: { submitted: 0, ambiguous: 1 } });
    expect(uploads).toMatchObject({ accepted: 0, ambiguous: 1 });
    await serve.stop();
  });
});

describe('while the source is checked', () => {
  it('a signal before the first upload ends the same way and pays nothing', async () => {
    const job = await createJob(await folder(), { pipeline: 'early', records: 400_000 });
    const child = spawnCli(['run', job.config], { env: job.env });
    const seen = promisify(execFile)('sh', [
      '-c',
      `until [ -e ${join(job.stateDir, 'checkpoint.db')} ]; do sleep 0.02; done`,
    ]);
    await seen;
    child.kill('SIGTERM');
    const { code, stderr } = await child.ended;
    expect(code, stderr).toBe(143);
    expect(stderr).toContain(`go on with: foliopipe run ${job.config}`);
  });
});

async function status(job: Job): Promise<Record<string, unknown>> {
  const { stdout } = await callMain(['status', job.config, '--json'], { env: job.env });
  return jsonLines(stdout).at(-1)!;
}
