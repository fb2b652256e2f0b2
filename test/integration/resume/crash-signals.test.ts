/**
 * A signal in the phases that test/integration/cli/signals.test.ts does not cover: the run ends resumably, and the
 * printed command really goes on. In a named window the process signals itself, so that the signal arrives exactly
 * there.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Failpoint } from '../../../src/failpoints.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesUnder, type Job } from '../../helpers/jobs/cli-job.js';
import { type CliEnd, jsonLines, runCli, spawnCli } from '../../helpers/processes/cli.js';
import { openServe, servedFolios, useServe } from '../../helpers/service/serve.js';

const chunks = 6;
const folder = useSharedFolder();
const serve = useServe({ segmentRecords: 7 });
let unbroken: Buffer;

beforeAll(async () => {
  const job = await createJob(await folder(), { pipeline: 'unbroken', baseUrl: serve.url });
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  unbroken = await readFile(job.output);
});
/** Runs the command that an interrupted one has printed, with more arguments. */
async function goOn(job: Job, end: CliEnd, ...more: string[]): Promise<CliEnd> {
  const printed = /\n {2}go on with: foliopipe (.+)\n/.exec(end.stderr)?.[1];
  expect(printed, end.stderr).toBeDefined();
  return runCli([...printed!.split(' '), ...more], { env: job.env });
}

async function expectWhole(job: Job, { code, stdout, stderr }: CliEnd): Promise<void> {
  expect(code, stderr).toBe(0);
  expect((await readFile(job.output)).equals(unbroken)).toBe(true);
  expect(jsonLines(stdout).at(-1)).toMatchObject({
    state: 'done',
    uploads: { accepted: chunks, ambiguous: 0, resubmitted: 0 },
  });
}

describe('in a named window', () => {
  const windows: readonly Failpoint[] = ['after-run-before-chunk', 'after-work-write-before-commit'];

  it.concurrent.each(windows)(
    '%s: SIGTERM ends with 143, and the printed command goes on',
    async (window) => {
      const job = await createJob(await folder(), { pipeline: window, baseUrl: serve.url });
      const env = { ...job.env, FOLIOPIPE_CRASH_AT: `${window}:term` };
      const end = await runCli(['run', job.config], { env });
      expect(end, end.stderr).toMatchObject({ code: 143, signal: null, stdout: '' });
      const left = (await filesUnder(job.folder)).filter((file) => file.startsWith('out/'));
      expect(left.filter((file) => !file.endsWith('.partial'))).toEqual([]);
      await expectWhole(job, await goOn(job, end, '--json'));
    },
  );
});

it.concurrent('during the publishing, the output is still published, because nothing would be left to go on with', async () => {
  const job = await createJob(await folder(), { pipeline: 'publishing', baseUrl: serve.url });
  const env = { ...job.env, FOLIOPIPE_CRASH_AT: 'after-last-merge-before-publishing:term' };
  const end = await runCli(['run', job.config, '--json'], { env });
  expect(end.stderr).toContain('SIGTERM: stopping');
  await expectWhole(job, end);
});

describe('during an outage', () => {
  it.concurrent('a signal ends the retries of uploads and polls, and the printed command goes on later', async () => {
    const data = join(await folder(), 'out');
    const first = await openServe(data, { segmentRecords: 7 });
    await first.stop();
    const job = await createJob(await folder(), { pipeline: 'outage', baseUrl: first.url });
    const restart = (recordsPerSecond: number) =>
      openServe(data, { port: first.port, segmentRecords: 7, recordsPerSecond });

    const uploading = spawnCli(['submit', job.config, '--log-level', 'debug'], { env: job.env });
    await uploading.waitFor('stderr', /upload failed and is tried again/);
    uploading.kill('SIGTERM');
    const stopped = await uploading.ended;
    expect(stopped.code, stopped.stderr).toBe(143);
    const slow = await restart(1);
    expect(await goOn(job, stopped)).toMatchObject({ code: 0 });
    await slow.stop();

    const polling = spawnCli(['run', job.config, '--log-level', 'debug'], { env: job.env });
    await polling.waitFor('stderr', /track failed and is tried again/);
    polling.kill('SIGINT');
    const interrupted = await polling.ended;
    expect(interrupted.code, interrupted.stderr).toBe(130);
    const quick = await restart(0);
    await expectWhole(job, await goOn(job, interrupted, '--json'));
    await quick.stop();
    expect(servedFolios(data)).toHaveLength(chunks);
  });
});
