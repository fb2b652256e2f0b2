/** Every exit code, each at least once by a real process; every error says what happened, where, and which command comes next. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../fake-service/behaviour.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, type JobOptions } from '../../helpers/jobs/cli-job.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { runCli, spawnCli } from '../../helpers/processes/cli.js';
import { openServe, servedFolios, serveToken, useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const serve = useServe();

describe('2, usage and config', () => {
  it('a malformed proxy; the embedded service does not keep the process alive', async () => {
    const state = ['--state-dir', join(await folder(), 'proxied')];
    const env = { HTTPS_PROXY: 'http://[' };
    const command = (name: string) => runCli([name, '-c', 'config/default.yaml', ...state], { env });
    expectError(await command('run'), 2, /HTTPS_PROXY/);
    const told = { code: 2, stdout: expect.stringMatching(/FAIL {2}service: .*HTTPS_PROXY.*\n {6}next: /) };
    expect(await command('check')).toMatchObject(told);
  });

  it('a frozen key that has changed; the error names the key and --new', async () => {
    const job = await createJob(await folder(), { pipeline: 'frozen', ...unreachable });
    await expect(enrichJob(job)).rejects.toMatchObject({ exitCode: 5 });
    const end = await runCli(['run', job.config, '--set', 'chunks.maxRecords=7'], { env: job.env });
    expectError(end, 2, /chunks\.maxRecords/);
    expect(end.stderr).toContain('--new');
  });
});

describe('the codes of a run', () => {
  it('0 and 3: more failures than tolerated; a done run gives the same code again', async () => {
    const settings = { failures: { tolerate: '1%' } };
    // Everything is in one chunk: after its failures are counted, nothing is left for a guard to stop.
    const options = { pipeline: 'many', baseUrl: serve.url, settings, chunk: 60 };
    const job = await createJob(await folder(), options);
    const first = await runCli(['run', job.config], { env: job.env });
    expect(first, first.stderr).toMatchObject({ code: 3, stderr: expect.stringContaining('Exit 3') });
    const { mtimeMs } = await stat(job.output);
    const second = await callMain(['run', job.config], { env: job.env });
    expect(second).toMatchObject({ code: 3, stderr: expect.stringMatching(/done already.*--new/) });
    expect((await stat(job.output)).mtimeMs).toBe(mtimeMs);
    const args = ['run', job.config, '--set', 'failures.tolerate=100%', '--new'];
    expect(await callMain(args, { env: job.env })).toMatchObject({ code: 0 });
  });

  it('4: a source that is missing, malformed, or changed during a run', async () => {
    const job = await createJob(await folder(), { pipeline: 'source', ...unreachable });
    const args = (...more: string[]) => [['run', job.config, ...more], { env: job.env }] as const;
    expectError(await runCli(...args('--source', join(job.folder, 'absent.csv'))), 4, /absent\.csv/);
    const bad = join(job.folder, 'bad.csv');
    await writeFile(bad, 'BusinessName,Address,State\nA,B,MT\nA,B,MT,too many\n');
    expectError(await callMain(...args('--source', bad)), 4, /bad\.csv.*(line|record) ?\w* ?[23]/s);
    await expect(enrichJob(job)).rejects.toMatchObject({ exitCode: 5 });
    await writeFile(job.source, 'BusinessName,Address,State,Note\nNew,1 Elm St,MT,x\n');
    const changed = await callMain(...args());
    expectError(changed, 4, /unfinished.*60 records then, 1 now/);
    expect(changed.stderr).toMatch(/next: put the old file back .*--new/);
  });

  it('5: a service that cannot be reached; after --new another command goes on', async () => {
    const job = await createJob(await folder(), { pipeline: 'down', ...unreachable });
    const end = await runCli(['run', job.config, '--new'], { env: job.env });
    expectError(end, 5, /ECONNREFUSED/);
    expect(end.stderr).toContain('retry.giveUpAfter');
    expect(end.stderr).toContain(`go on with: foliopipe run ${job.config}\n`);
  });

  it('6: a service that counts other records than were sent; nothing is published', async () => {
    const receipt = (reply: Reply) => ({ ...reply, totalRecords: 7 });
    const service = await openFakeService({ receipt }, serveToken);
    const job = await createJob(await folder(), { pipeline: 'misread', baseUrl: service.url });
    expectError(
      await runCli(['run', job.config], { env: job.env }),
      6,
      /10 records sent, and the service read 7/,
    );
    await expect(stat(job.output)).rejects.toThrow('ENOENT');
    await service.close();
  });

  it('7: a token that the service refuses', async () => {
    const job = await createJob(await folder(), { pipeline: 'token', baseUrl: serve.url });
    const end = await runCli(['run', job.config], { env: { FOLIOPIPE_TOKEN: 'another-token' } });
    expectError(end, 7, /401/);
    expect(end.stdout + end.stderr).not.toContain('another-token');
    expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  });

  it('9: a budget that is too small; too many failures among the first chunks', async () => {
    const data = join(await folder(), 'guarded');
    const own = await openServe(data);
    const job = await createJob(await folder(), {
      pipeline: 'guarded',
      baseUrl: own.url,
      settings: { failures: { tolerate: '1%' }, concurrency: { uploads: 1, folios: 1 } },
    });
    const args = (...more: string[]) => [['run', job.config, ...more], { env: job.env }] as const;
    expectError(
      await callMain(...args('--set', 'budget.perRun=59')),
      9,
      /59 records.*60 to send \[BUDGET_TOO_SMALL\]/,
    );
    expectError(await runCli(...args()), 9, /failures\.tolerate is 1%.*\[FAILURE_RATE\]/);
    await expect(stat(job.output)).rejects.toThrow('ENOENT');
    expect(await callMain(...args('--set', 'failures.tolerate=100%'))).toMatchObject({ code: 0 });
    await own.stop();
    expect(servedFolios(data)).toHaveLength(6);
  });

  it('11: a second process of the same pipeline; the error names the holder of the lock', async () => {
    const job = await createJob(await folder(), {
      pipeline: 'locked',
      settings: { retry: { first: '50ms' } },
    });
    const first = spawnCli(['run', job.config], { env: job.env });
    await first.waitFor('stderr', /fails and is tried again/);
    const second = await runCli(['run', job.config], { env: job.env });
    expectError(second, 11, new RegExp(`process ${first.pid} \\(run ${job.config}\\).*locked`));
    first.kill('SIGKILL');
    await first.ended;
    const args = ['run', job.config, '--set', 'retry.giveUpAfter=20ms'];
    expectError(await callMain(args, { env: job.env }), 5, /ECONNREFUSED/);
  });
});

it('help and version go to stdout and end with 0', async () => {
  const [help, version] = await Promise.all([runCli(['run', '--help']), runCli(['--version'])]);
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('--base-url') });
  expect(help.stdout).toContain('--publish-partial');
  const { version: expected } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect(version).toMatchObject({ code: 0, stdout: `${expected}\n` });
});

const unreachable: JobOptions = { settings: { retry: { giveUpAfter: '50ms' } } };
