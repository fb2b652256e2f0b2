/** `foliopipe recover` after a real kill: what it prints, what it keeps, and how the job goes on. */
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFileLock } from '../../../src/checkpoint/sqlite/pipeline-lock.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesUnder, type Job, killJobAt } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const serve = useServe({ segmentRecords: 7 });
let unbroken: Buffer;

beforeAll(async () => {
  const job = await newJob('unbroken');
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  unbroken = await readFile(job.output);
});

async function newJob(pipeline: string): Promise<Job> {
  return createJob(await folder(), { pipeline, baseUrl: serve.url });
}

describe('foliopipe recover', () => {
  it('rebuilds the checkpoint after a kill and a lost log; the same command then finishes the job', async () => {
    const job = await killNow('lost-log');
    await rm(join(job.stateDir, 'checkpoint.db-wal'));
    const refused = await callMain(['run', job.config], { env: job.env });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/nothing was sent \[CHECKPOINT_BEHIND\]\n {2}next: .*foliopipe recover/);

    const before = await filesUnder(job.stateDir);
    const preview = await here(job, '--dry-run');
    expect(preview.stdout).toMatch(/1 run would be rebuilt/);
    expect(preview.stdout).not.toContain('the checkpoint is whole');
    expect(await filesUnder(job.stateDir)).toEqual(before);
    const { code, stdout, stderr } = await callMain(['recover', job.config, '--json'], { env: job.env });
    expect(code, stderr).toBe(0);
    const [run, summary] = jsonLines(stdout);
    expect(run).toMatchObject({
      type: 'run',
      found: 'rebuilt',
      pipeline: 'lost-log',
      ambiguous: expect.any(Number),
    });
    expect(summary).toMatchObject({ type: 'summary', replaced: true, exitCode: 0 });

    const end = await callMain(['run', job.config, '--json'], { env: job.env });
    expect(end.code, end.stderr).toBe(0);
    expect(jsonLines(end.stdout).at(-1)).toMatchObject({ found: 'continued', uploads: { accepted: 6 } });
    expect(await readFile(job.output)).toEqual(unbroken);
    expect((await here(job)).stdout).toMatch(/nothing is missing/);
  });

  it('keeps the old checkpoint and its log under other names', async () => {
    const job = await killed('kept');
    for (const end of ['', '-wal']) {
      await writeFile(join(job.stateDir, `checkpoint.db${end}`), 'x'.repeat(9_000));
    }
    const { code, stdout } = await here(job);
    expect(code).toBe(0);
    const kept = /the old checkpoint is kept as (\S+)/.exec(stdout)![1]!;
    expect(await readFile(kept, 'utf8')).toBe('x'.repeat(9_000));
    expect(await readdir(job.stateDir)).toContain(`${kept.split('/').at(-1)}-wal`);
    expect(await readdir(job.stateDir)).not.toContain('checkpoint.db-wal');
  });

  it.each(['status', 'runs', 'ledger', 'plan'])('is named by %s if the checkpoint is lost', async (name) => {
    const job = await killed(`read-${name}`);
    await rm(join(job.stateDir, 'checkpoint.db'));
    const { code, stderr } = await callMain([name, job.config], { env: job.env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/\[CHECKPOINT_LOST\]\n {2}next: .*foliopipe recover/);
  });

  it('names the kept files if the checkpoint itself is missing, and mentions no other version', async () => {
    const job = await killed('left-log');
    await rm(join(job.stateDir, 'checkpoint.db'));
    const { code, stdout } = await here(job);
    expect(code).toBe(0);
    const kept = /what was left of the old checkpoint is kept as (.+)\n/.exec(stdout)![1]!.split(' and ');
    expect(kept[0]).toMatch(/\.bak-wal$/);
    for (const path of kept) await readFile(path);
    expect(stdout).not.toContain('0.1');
  });

  it.each(['resubmit', 'hold'])(
    'says what foliopipe run does with an ambiguous upload: %s',
    async (policy) => {
      const job = await newJob(`unknown-${policy}`);
      await killJobAt(job, 'after-post-before-commit', '--set', 'concurrency.uploads=1');
      for (const end of ['', '-wal']) await rm(join(job.stateDir, `checkpoint.db${end}`));
      const { stdout } = await here(job, '--set', `ambiguous.policy=${policy}`);
      const then = policy === 'hold' ? 'does not send it again' : 'sends it again and may pay for it twice';
      expect(stdout).toMatch(/: 0 records paid for, \d+ more perhaps, 0 folios/);
      expect(stdout).toMatch(
        /next: foliopipe run -c \S+ --set \S+ goes on\. 1 upload \(\d+ records\) may or may not have been/,
      );
      expect(stdout).toContain(` ${then} (ambiguous.policy: ${policy}). Before that, run`);
      expect(stdout).not.toContain('pays for nothing again');
    },
  );

  it('says what is left if the checkpoint is lost and the journal damaged', async () => {
    const job = await killed('damaged');
    const run = (await readdir(join(job.stateDir, 'runs')))[0]!;
    const journal = join(job.stateDir, 'runs', run, 'paid.log');
    await writeFile(journal, (await readFile(journal, 'utf8')).replace('"type":"intent"', '"type":"invent"'));
    for (const end of ['', '-wal']) await rm(join(job.stateDir, `checkpoint.db${end}`));
    const { code, stdout } = await here(job);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /cannot be rebuilt: line \d+ of \S+paid\.log is damaged\. Restore a copy of paid\.log or/,
    );
    expect(stdout).toMatch(
      new RegExp(`move the folder runs/${run} away; foliopipe run .*--yes then pays for this source again`),
    );
    expect(stdout).not.toContain('adopt');
    const again = await here(job, '--dry-run');
    expect(again.code).toBe(2);
    expect(again.stdout).toMatch(/^checkpoint\.db can be read, but lacks 1 run/);
    expect(again.stdout).not.toMatch(/nothing is missing|checkpoint is whole/);
  });

  it('says that a run from before version 0.1.0 has no journal, and leaves it alone', async () => {
    const job = await killed('without');
    const run = (await readdir(join(job.stateDir, 'runs')))[0]!;
    await rm(join(job.stateDir, 'runs', run, 'paid.log'));
    for (const end of ['', '-wal']) await rm(join(job.stateDir, `checkpoint.db${end}`));
    const { code, stdout } = await here(job);
    expect(code).toBe(2);
    expect(stdout).toMatch(/cannot be rebuilt: .*paid\.log is missing/);
    expect(stdout).toContain('if a foliopipe before 0.1.0 was ever used in this folder');
    expect(stdout).not.toContain('"type":"accepted"');
    expect((await here(job)).code).toBe(2);
    expect((await callMain(['run', job.config], { env: job.env })).stderr).toMatch(/\[CHECKPOINT_BEHIND\]/);
  });

  it('does not wait: exit 11 while a pipeline runs, exit 2 without state', async () => {
    const job = await killed('busy');
    const lock = await createFileLock(job.stateDir).take('other', { pid: 4711, command: 'run', since: 0 });
    expect((await runCli(['recover', job.config], { env: job.env })).code).toBe(11);
    await lock.close();
    await mkdir(join(job.folder, 'empty'));
    const { code, stderr } = await here(job, '--state-dir', join(job.folder, 'empty'));
    expect(code).toBe(2);
    expect(stderr).toMatch(/\[STATE_MISSING\]/);
    expect(await readdir(join(job.folder, 'empty'))).toEqual([]);
  });
});

let killedOnce: Promise<Job> | undefined;

/** A copy of a job whose process was killed, one for each test. It cannot go on: its run has another output. */
async function killed(name: string): Promise<Job> {
  killedOnce ??= killNow('killed');
  const { folder: original, env } = await killedOnce;
  const copy = join(await folder(), `copy-${name}`);
  await cp(original, copy, { recursive: true });
  const [config, source, stateDir] = ['job.yaml', 'source.csv', 'state'].map((file) => join(copy, file));
  const output = join(copy, 'out', 'enriched.csv');
  return { folder: copy, config: config!, source: source!, stateDir: stateDir!, output, env };
}

/** A job whose process was killed after three uploads. */
async function killNow(pipeline: string): Promise<Job> {
  const job = await newJob(pipeline);
  await killJobAt(job, 'after-accepted-before-poll:3');
  return job;
}

function here(job: Job, ...args: string[]) {
  return callMain(['recover', job.config, ...args], { env: job.env });
}
