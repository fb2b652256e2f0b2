/** What becomes of an error while a run is opened, and while it works. */
import { expect, it } from 'vitest';
import { ConfigError, InterruptedError, LockedError } from '../../../src/errors.js';
import type { ChosenAnswers } from '../../../src/reuse/answer-store.js';
import { openRun, withRun } from '../../../src/run/open/open-run.js';
import { sampleChoice } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

it('it is what the caller gets, also if something that was opened cannot be closed', async () => {
  const { config, checkpoint, answers, fileStore, api, clock } = await createStageRun(await folder());
  const failing = (what: string) => async () => {
    throw new Error(what);
  };
  const ports = {
    api,
    clock,
    lock: { take: async () => ({ close: async () => undefined }) },
    checkpoint: {
      ...checkpoint,
      run: async (id: string) => ({ ...(await checkpoint.run(id))!, choice: sampleChoice }),
    },
    answers: {
      ...answers,
      openChoice: async () => ({ close: failing('the close') }) as never as ChosenAnswers,
    },
    files: { ...fileStore, ofRun: failing('the files') },
  };
  await expect(openRun(config, ports)).rejects.toThrow('the files');
});

it('of the disk it says what to do, as for a job', async () => {
  const { config, checkpoint, answers, fileStore, api, clock } = await createStageRun(await folder());
  const full = async () => {
    throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write', path: '/state/x' });
  };
  const lock = { take: async () => ({ close: async () => undefined }) };
  const ports = { api, clock, lock, checkpoint, answers, files: { ...fileStore, ofRun: full } };
  await expect(openRun(config, ports)).rejects.toMatchObject({ code: 'DISK_FULL', exitCode: 5 });
});

it.each([
  {
    what: 'finds a file of the next process',
    error: Object.assign(new Error('EEXIST'), { code: 'EEXIST', syscall: 'open', path: '/out/part' }),
    isHeld: false,
    code: 'LEASE_LOST',
  },
  {
    what: 'misses what the next process has removed',
    error: new ConfigError('DELTA_BASE_LOST', 'it is missing'),
    isHeld: false,
    code: 'LEASE_LOST',
  },
  { what: 'is interrupted', error: new InterruptedError('SIGTERM'), isHeld: false, code: 'INTERRUPTED' },
  {
    what: 'still has its lease',
    error: new ConfigError('DELTA_BASE_LOST', 'it is missing'),
    isHeld: true,
    code: 'DELTA_BASE_LOST',
  },
])('of a process that $what is $code', async ({ error, isHeld, code }) => {
  const { config, checkpoint, answers, fileStore, api, clock } = await createStageRun(await folder());
  let isPaused = false;
  const held = {
    isHeld: () => isHeld || !isPaused,
    expectHeld: async () => {
      if (!held.isHeld()) throw new LockedError('LEASE_LOST', 'the lease is lost');
    },
    close: async () => undefined,
  };
  const ports = { api, clock, lock: { take: async () => held }, checkpoint, answers, files: fileStore };
  const work = withRun(config, ports, async () => {
    isPaused = true;
    throw error;
  });
  await expect(work).rejects.toMatchObject({ code });
});
