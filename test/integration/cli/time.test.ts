/** `--max-duration` stops resumably with exit 8; `--wait-lock` waits for the run that holds the pipeline. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli, spawnCli } from '../../helpers/processes/cli.js';
import { openServe, servedFolios } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const chunks = 6;

it('stops at the deadline with exit 8, and the same command goes on without paying again', async () => {
  const data = join(await folder(), 'deadline');
  let serve = await openServe(data, { recordsPerSecond: 0.01 });
  const job = await createJob(await folder(), { pipeline: 'deadline', baseUrl: serve.url });
  const stopped = await runCli(['run', job.config, '--max-duration', '2s', '--new'], { env: job.env });
  expect(stopped.code, stopped.stderr).toBe(8);
  expect(stopped.stderr).toMatch(/deadline \S+Z, in 2s/);
  expect(stopped.stderr).toMatch(
    /\[DEADLINE_REACHED\]\n {2}next: .*\n {2}so far: .*\n {2}go on with: foliopipe run/,
  );
  expect(stopped.stderr).not.toMatch(/go on with: .*--new/);
  await serve.stop();

  serve = await openServe(data, { port: serve.port, recordsPerSecond: 0 });
  const end = await callMain(['run', job.config, '--json'], { env: job.env });
  expect(end.code, end.stderr).toBe(0);
  await serve.stop();
  expect(servedFolios(data)).toHaveLength(chunks);
});

it('waits for the lock as long as --wait-lock says', async () => {
  const data = join(await folder(), 'lock');
  let serve = await openServe(data, { recordsPerSecond: 0.01 });
  const job = await createJob(await folder(), { pipeline: 'lock', baseUrl: serve.url });
  const holder = spawnCli(['run', job.config, '--log-level', 'debug'], { env: job.env });
  await holder.waitFor('stderr', /submitted as folio/);
  const refused = await callMain(['run', job.config, '--wait-lock', '1s'], { env: job.env });
  expect(refused.code, refused.stderr).toBe(11);
  expect(refused.stderr).toMatch(/waiting for the lock/);

  const waiting = spawnCli(['run', job.config, '--wait-lock', '--json'], { env: job.env });
  await waiting.waitFor('stderr', /waiting for the lock/);
  holder.kill('SIGTERM');
  await holder.ended;
  await serve.stop();
  serve = await openServe(data, { port: serve.port, recordsPerSecond: 0 });
  const { code, stdout, stderr } = await waiting.ended;
  await serve.stop();
  expect(code, stderr).toBe(0);
  expect(jsonLines(stdout).at(-1)).toMatchObject({ type: 'summary', found: 'continued' });
  expect((await readFile(job.output)).length).toBeGreaterThan(0);
  expect(servedFolios(data)).toHaveLength(chunks);
});
