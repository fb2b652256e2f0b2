/** `submit` and `collect`, each in a process of its own, give the same result as `run`. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe, servedFolios } from '../../helpers/service/serve.js';

const folder = useSharedFolder();

describe('submit and collect', () => {
  it('submit returns when all is uploaded, collect --no-wait reports, collect publishes', async () => {
    const dataDir = join(await folder(), 'service');
    const slow = await openServe(dataDir, { recordsPerSecond: 0.01 });
    const job = await createJob(await folder(), { baseUrl: slow.url });
    const run = (...args: string[]) => callMain([...args, job.config, '--json'], { env: job.env });

    const submitted = await run('submit');
    expect(submitted.code, submitted.stderr).toBe(0);
    expect(jsonLines(submitted.stdout).at(-1)).toMatchObject({
      state: 'open',
      output: null,
      chunks: { all: 6, byState: { submitted: 6 } },
    });

    const early = await run('collect', '--no-wait');
    expect(early.code, early.stderr).toBe(10);
    expect(jsonLines(early.stdout).at(-1)).toMatchObject({
      type: 'summary',
      exitCode: 10,
      error: { code: 'STILL_PROCESSING', hint: expect.stringContaining('collect') },
    });

    const plan = await callMain(['plan', job.config], { env: job.env });
    expect(plan.stdout).toContain(`nothing is left to send; foliopipe status -c ${job.config} says`);

    await slow.stop();
    const quick = await openServe(dataDir, { port: slow.port });
    const whole = await createJob(await folder(), { pipeline: 'whole', baseUrl: quick.url });
    const [late, other] = [await run('collect'), await enrichJob(whole)];
    expect(late.code, late.stderr).toBe(0);
    expect(other.exitCode).toBe(0);
    expect(await readFile(job.output)).toEqual(await readFile(whole.output));

    const again = await callMain(['collect', '--no-wait', job.config, '--json'], { env: job.env });
    expect(again).toMatchObject({ code: 0 });
    expect(jsonLines(again.stdout).at(-1)).toMatchObject({ found: 'done', exitCode: 0 });
    expect(await enrichJob(job)).toMatchObject({ found: 'done', exitCode: 0 });
    await quick.stop();
    expect(servedFolios(dataDir)).toHaveLength(12);
  });

  it('submit with fewer folio permits than chunks waits only for permits', async () => {
    const dataDir = join(await folder(), 'narrow-service');
    const serve = await openServe(dataDir, { recordsPerSecond: 200 });
    const settings = { concurrency: { folios: 2 } };
    const job = await createJob(await folder(), { pipeline: 'narrow', baseUrl: serve.url, settings });
    const submitted = await callMain(['submit', '--label', 'a note', job.config], { env: job.env });
    expect(submitted.code, submitted.stderr).toBe(0);
    const { stdout } = await callMain(['status', job.config, '--json'], { env: job.env });
    const { byState } = jsonLines(stdout).at(-1)!.chunks as { byState: Record<string, number> };
    expect(byState.cut! + byState.uploading! + byState.ambiguous!).toBe(0);
    expect(byState.submitted! + byState.finished!).toBe(6);
    const told = /go on with: foliopipe (.+)\n/.exec(submitted.stderr)?.[1];
    expect(told).toBe(`collect -c ${job.config}`);
    const collected = await callMain(told!.split(' '), { env: job.env });
    expect(collected.code, collected.stderr).toBe(0);
    await serve.stop();
    expect(servedFolios(dataDir)).toHaveLength(6);
  });

  it('collect without a run, or with one that is not submitted, names the next command', async () => {
    const job = await createJob(await folder(), {
      pipeline: 'none',
      settings: { retry: { giveUpAfter: '50ms' } },
    });
    const none = await callMain(['collect', job.config], { env: job.env });
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no run.*\n {2}next: .*foliopipe run/),
    });
    await expect(enrichJob(job)).rejects.toMatchObject({ exitCode: 5 });
    const missing = await callMain(['collect', job.config], { env: job.env });
    expect(missing).toMatchObject({ code: 5, stderr: expect.stringContaining('next: foliopipe run') });
  });
});
