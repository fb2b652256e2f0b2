/** What `foliopipe status` says about the process that works, and what to type next. */
import { cp, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createJob, sourceText } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, spawnCli } from '../../helpers/processes/cli.js';

const folder = useFolder();

it('names the process that works on an unfinished run, and after a kill the command that goes on', async () => {
  const service = await openFakeService({ finishedAtPoll: () => 1_000_000 });
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  const running = spawnCli(['run', job.config, '--log-level', 'debug'], { env });
  await running.waitFor('stderr', /submitted as folio/);
  const status = (...more: string[]) => callMain(['status', job.config, ...more], { env });

  const working = await status();
  expect(working).toMatchObject({ code: 0, stderr: '' });
  expect(working.stdout).toMatch(
    new RegExp(
      `\\n {2}working {3}process ${running.pid} \\(run .*job.yaml.*\\) has been working on the pipeline for `,
    ),
  );
  expect(working.stdout).not.toContain('go on with');
  expect(jsonLines((await status('--json')).stdout).at(-1)).toMatchObject({ working: { pid: running.pid } });

  const watching = spawnCli(['status', job.config, '--watch', '--json'], { env });
  await watching.waitFor('stdout', /"type":"progress"/);
  running.kill('SIGKILL');
  await running.ended;
  const watched = await watching.ended;
  expect(watched.code, watched.stderr).toBe(0);
  const told = jsonLines(watched.stdout);
  expect(told[0]).toMatchObject({ type: 'progress', state: 'open', toSend: 60, rate: null, waits: [] });
  expect(told[0]).toMatchObject({ folios: { oldest: expect.arrayContaining([expect.anything()]) } });
  expect(told.at(-1)).toMatchObject({ type: 'summary', state: 'open', working: null });
  // The file with its name is still there; only the lock proves anything.
  expect(await readdir(join(job.stateDir, 'locks'))).toContain('nightly.holder.json');
  const killed = await status();
  expect(killed.stdout).toMatch(
    /\n {2}no process works on it; go on with: foliopipe run -c \S+job\.yaml, which waits for \d open folios? with \d+ records.*, and publishes the whole output; if the cause of the stop persists, that run reports it\n$/,
  );
  expect(jsonLines((await status('--json')).stdout).at(-1)).toMatchObject({ working: null });
  expect(killed.stdout).not.toContain('the source has changed');
  await writeFile(job.source, sourceText(61));
  expect((await status()).stdout).toContain(
    `\n  the source has changed or was touched since the run has read it: ${job.source}; if its content differs, foliopipe run -c ${job.config} says so`,
  );
  const shown = await callMain(['runs', 'show', job.config], { env });
  expect(shown.stdout).toMatch(
    /^run (\S+) is open\n[\s\S]*how it goes on: foliopipe status -c \S+job\.yaml --run \1\n$/,
  );
  await service.close();
});

it('names the source of an unfinished run where the config has another one', async () => {
  const service = await openFakeService({ finishedAtPoll: () => 1_000_000 });
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  const other = join(job.folder, 'other.csv');
  await writeFile(other, sourceText(20));
  await callMain(['submit', job.config, '--source', other], { env });
  const goesOn = async () =>
    /go on with: (foliopipe run .*?),/.exec((await callMain(['status', job.config])).stdout)?.[1];
  expect(await goesOn()).toBe(`foliopipe run -c ${job.config} --source ${other}`);
  // A file that is gone helps nobody: the run says what it needs.
  await rename(other, `${other}.old`);
  expect(await goesOn()).toBe(`foliopipe run -c ${job.config}`);
  await service.close();
});

it('of a run that is done says when it ended', async () => {
  const service = await openFakeService();
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  await callMain(['run', job.config], { env });
  const { stdout } = await callMain(['status', job.config]);
  expect(stdout).toMatch(/^run \S+ is done\n[\s\S]*\n {2}it ended (?:\d+ms|\d+s|\d+m) ago\n/);
  await service.close();
});

it('of a run whose upload was misread says what its error says, and not to go on', async () => {
  const service = await openFakeService({
    receipt: (reply, { chunk }) => (chunk === 2 ? { ...reply, totalRecords: 9 } : reply),
  });
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  const failed = await callMain(['run', job.config], { env });
  expect(failed).toMatchObject({ code: 6 });
  const error = 'chunk 2: 10 records sent, and the service read 9 [UPLOAD_MISREAD]';
  const next = /\n {2}next: .*\n/.exec(failed.stderr)![0];
  expect(failed.stderr).toContain(`foliopipe: ${error}${next}`);
  const { code, stdout } = await callMain(['status', job.config], { env });
  expect(code).toBe(0);
  expect(stdout).toContain(`\n  foliopipe run -c ${job.config} would send nothing now: ${error}${next}`);
  expect(next).toContain(`foliopipe run -c ${job.config} --new --yes`);
  expect(stdout).not.toContain('go on with');
  expect(jsonLines((await callMain(['status', job.config, '--json'])).stdout).at(-1)).toMatchObject({
    state: 'open',
    nextStop: { code: 'UPLOAD_MISREAD', exitCode: 6, facts: { chunk: 2 } },
  });
  await service.close();
});

it('says that the state is older than the output', async () => {
  const service = await openFakeService();
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  await callMain(['run', job.config], { env });
  expect(jsonLines((await callMain(['status', job.config, '--json'])).stdout).at(-1)).toMatchObject({
    nextStop: null,
  });
  await cp(job.stateDir, join(job.folder, 'older'), { recursive: true });
  // Ids of runs tell the second in which they began.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await writeFile(job.source, sourceText(50));
  await callMain(['run', job.config], { env });
  await rename(job.stateDir, join(job.folder, 'newer'));
  await rename(join(job.folder, 'older'), job.stateDir);

  await writeFile(job.source, sourceText(40));
  const refused = await callMain(['run', job.config], { env });
  expect(refused).toMatchObject({ code: 9 });
  const error = /^foliopipe: (the state is older than .* \[STATE_BEHIND\]\n {2}next: .*\n)/m.exec(
    refused.stderr,
  )![1];
  const { stdout } = await callMain(['status', job.config], { env });
  expect(stdout).toContain(`\n  foliopipe run -c ${job.config} would send nothing now: ${error}`);
  await service.close();
});

it('waits for a first run, says so once, and ends with 130 on Ctrl-C', async () => {
  const service = await openFakeService({ finishedAtPoll: () => 1_000_000 });
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  const watch = () => spawnCli(['status', job.config, '--watch', '--json'], { env });
  const [watching, left] = [watch(), watch()];
  const waits =
    /^pipeline nightly has no run yet in \S+; waiting for the first one \(Ctrl-C ends the wait\)\n/;
  await Promise.all([watching, left].map((one) => one.waitFor('stderr', waits)));
  left.kill('SIGINT');
  expect(await left.ended).toMatchObject({ code: 130, stdout: '' });
  const running = spawnCli(['run', job.config], { env });
  await watching.waitFor('stdout', /"type":"progress"/);
  running.kill('SIGKILL');
  const { code, stdout, stderr } = await watching.ended;
  expect(code, stderr).toBe(0);
  expect(jsonLines(stdout).at(-1)).toMatchObject({ type: 'summary', state: 'open', working: null });
  expect(stderr.split('has no run yet')).toHaveLength(2);
  await running.ended;
  await service.close();
});

it('watches no longer than somebody reads it', async () => {
  let isUnread = false;
  const service = await openFakeService({
    finishedAtPoll: ({ chunk }) => (isUnread && chunk === 1 ? 0 : 1_000_000),
  });
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  const running = spawnCli(['run', job.config], { env });
  const watching = spawnCli(['status', job.config, '--watch', '--json'], { env });
  await watching.waitFor('stdout', /"type":"progress"/);
  watching.stopReading();
  isUnread = true;
  expect(await watching.ended).toMatchObject({ code: 0 });
  running.kill('SIGKILL');
  expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
  await service.close();
});

it('of a pipeline without a run says how one begins', async () => {
  const service = await openFakeService();
  const job = await createJob(await folder(), { baseUrl: service.url });
  await callMain(['run', job.config], { env: { FOLIOPIPE_TOKEN: service.token } });
  const other = await createJob(await folder(), { pipeline: 'other' });
  const { code, stderr } = await callMain(['status', other.config, '--state-dir', job.stateDir]);
  expect(code).toBe(2);
  expect(stderr).toContain(
    'pipeline other has no run yet [RUN_UNKNOWN]\n  next: begin one with: foliopipe run ',
  );
  await service.close();
});
