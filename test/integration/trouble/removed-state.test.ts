/** Files of the state that are removed while a run works: it stops before it pays more, and what it paid for is kept. */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FoliopipeError, hintOf, type RunOptions } from '../../../pipelines/index.js';
import { expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';

const setup = { behaviour, config: { concurrency: { uploads: 1 } } };

/** Does something in the moment after the second folio is recorded. */
function afterSecondFolio(work: () => void): RunOptions {
  let passed = 0;
  return {
    at: (point) => {
      if (point === 'after-accepted-before-poll' && ++passed === 2) work();
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
