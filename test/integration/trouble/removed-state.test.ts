/** Files of the state that are removed while a run works: it stops before it pays more, and what it paid for is kept. */
import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Failpoint, type FoliopipeError, hintOf, type RunOptions } from '../../../pipelines/index.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { spawnCli } from '../../helpers/processes/cli.js';
import { openUploadProxy } from '../../helpers/service/upload-proxy.js';

const setup = { behaviour, config: { concurrency: { uploads: 1 } } };

/** Does something in the moment after the second folio is recorded. */
const afterSecondFolio = (work: () => void) => atPassage('after-accepted-before-poll', 2, work);

/** Does something when a failpoint is passed for the n-th time. */
function atPassage(failpoint: Failpoint, n: number, work: () => void): RunOptions {
  let passed = 0;
  return {
    at: (point) => {
      if (point === failpoint && ++passed === n) work();
    },
  };
}

async function expectGoesOn(job: Job): Promise<void> {
  await expectSuccess(job, await job.enrich(), all);
  expect(await job.output()).toBe(await unbrokenOutput());
  expect(job.service.count('upload')).toBe(6);
}

const database = (job: Job) => path.join(job.config().stateDir, 'checkpoint.db');

describe('while a run works', () => {
  it.each([
    ['the database', ['', '-wal', '-shm']],
    ['the log of the database', ['-wal']],
    ['the shared memory of the database', ['-shm']],
  ])('%s is removed: the run stops, and goes on with the copy that it saved', async (_, ends) => {
    await withJob(setup, async (job) => {
      const remove = () => {
        for (const end of ends) rmSync(`${database(job)}${end}`);
      };
      const error = (await job.failure({}, afterSecondFolio(remove))) as FoliopipeError;
      expect(error).toMatchObject({ code: 'CHECKPOINT_GONE', exitCode: 2 });
      expect(job.service.count('upload')).toBe(2);
      const saved = String(error.facts.saved);
      expect(statSync(saved).mode & 0o777).toBe(0o600);
      expect(hintOf(error)).toContain(`mv ${saved} ${database(job)}`);
      for (const end of ['', '-wal', '-shm']) rmSync(`${database(job)}${end}`, { force: true });
      expect(await job.failure()).toMatchObject({ code: 'CHECKPOINT_LOST' });
      renameSync(saved, database(job));
      await expectGoesOn(job);
    });
  });

  it('the whole state folder is removed: a new run is refused until the saved copy is put in place', async () => {
    await withJob(setup, async (job) => {
      const { stateDir } = job.config();
      const remove = () => rmSync(stateDir, { recursive: true });
      const error = (await job.failure({}, afterSecondFolio(remove))) as FoliopipeError;
      expect(error.code).toBe('CHECKPOINT_GONE');
      expect(await job.failure()).toMatchObject({ code: 'CHECKPOINT_LOST' });
      expect(job.service.count('upload')).toBe(2);
      renameSync(String(error.facts.saved), database(job));
      await expectGoesOn(job);
    });
  });

  it('the whole state folder is removed and a missing part is noticed first: the copy is saved all the same', async () => {
    await withJob(setup, async (job) => {
      const { stateDir } = job.config();
      const remove = () => rmSync(stateDir, { recursive: true });
      const error = await job.failure({}, atPassage('after-finished-before-download', 6, remove));
      expect(error).toMatchObject({ code: 'CHECKPOINT_GONE', exitCode: 2 });
      renameSync(String((error as FoliopipeError).facts.saved), database(job));
      await expectGoesOn(job);
    });
  });

  it('the state folder is moved away: moved back, the run goes on', async () => {
    await withJob(setup, async (job) => {
      const { stateDir } = job.config();
      const error = await job.failure(
        {},
        afterSecondFolio(() => renameSync(stateDir, `${stateDir}.moved`)),
      );
      expect(error).toMatchObject({ code: 'CHECKPOINT_GONE' });
      rmSync(stateDir, { recursive: true });
      renameSync(`${stateDir}.moved`, stateDir);
      await expectGoesOn(job);
    });
  });

  it("the run's folder is removed: a clear error or none, and nothing is paid twice", async () => {
    await withJob(setup, async (job) => {
      const runs = path.join(job.config().stateDir, 'runs');
      const remove = () => rmSync(path.join(runs, readdirSync(runs)[0]!), { recursive: true });
      const error = await job.failure({}, afterSecondFolio(remove));
      if (error !== undefined) expect(error).toMatchObject({ code: 'FILE_GONE', exitCode: 2 });
      await expectGoesOn(job);
    });
  });
});

describe('the command, with uploads in flight when the state is removed', () => {
  it('every message names the saved copy, which has each folio: after the printed mv nothing is paid twice', () =>
    withFolder(async (folder) => {
      const service = await openFakeService(behaviour);
      const proxy = await openUploadProxy(service.url);
      try {
        const settings = { concurrency: { uploads: 3 }, ambiguous: { policy: 'hold' } };
        const job = await createJob(path.join(folder, "an owner's files"), { baseUrl: proxy.url, settings });
        const options = { env: { FOLIOPIPE_TOKEN: service.token } };
        const run = spawnCli(['run', job.config], options);
        await proxy.accepted(3);
        execFileSync('rm', ['-rf', job.stateDir]);
        proxy.release();
        const gone = await run.ended;
        expect(gone.code, gone.stderr).toBe(2);
        expect(gone.stderr).toContain('[CHECKPOINT_GONE]');
        const command = moveCommand(gone.stderr);
        for (const name of ['run', 'recover', 'status']) {
          const refused = await callMain([name, job.config], options);
          expect(refused.code).toBe(2);
          expect(refused.stderr).toContain('[CHECKPOINT_LOST]');
          expect(moveCommand(refused.stderr)).toBe(command);
        }
        execFileSync('sh', ['-c', command]);
        const end = await callMain(['run', job.config], options);
        expect(end.code, end.stderr).toBe(0);
        expect(end.stderr).not.toContain('cut off');
        expect(service.count('upload')).toBe(6);
      } finally {
        await proxy.close();
        await service.close();
      }
    }));
});

/** The command that puts the copy in place, as the message has it. */
function moveCommand(stderr: string): string {
  return /: ((?:rm -f .* && )?mv .*?); then run the same command again/.exec(stderr)?.[1] ?? stderr;
}
