/** An operation that was interrupted is called again, and finishes the rest. */
import { expect, it } from 'vitest';
import type { RunJob, Trouble } from '../../src/fleet/job.js';
import { createJobQueue } from '../../src/fleet/job-queue.js';
import type { Boss, BossJob } from '../../src/fleet/pg-boss.js';

const job: RunJob = { version: 1, pipeline: 'a', config: '{}', flags: {}, from: { host: 'h', files: [] } };
const trouble: Trouble = { exitCode: 5, code: 'X', message: 'm', hint: null, times: 1, since: 1 };
const taken = { id: '1', job, turn: 0 };

/** A job of one worker, in a database whose next update fails. */
function openQueue() {
  let isLost = true;
  let row: BossJob = {
    id: '1',
    data: job,
    state: 'active',
    retryCount: 0,
    singletonKey: 'a',
    createdOn: new Date(),
    startAfter: new Date(),
    startedOn: new Date(),
  };
  const waits: number[] = [];
  const boss = {
    findJobs: async (_: string, { queued = false }) =>
      !queued || row.state === 'retry' || row.state === 'created' ? [row] : [],
    fail: async () => {
      row = { ...row, state: 'retry' };
    },
    update: async (_: string, data: object, { startAfter }: { readonly startAfter: number }) => {
      if (isLost) {
        isLost = false;
        throw new Error('lost');
      }
      row = { ...row, data };
      waits.push(startAfter);
    },
  } as unknown as Boss;
  const queue = createJobQueue(
    boss,
    (work) => work,
    () => undefined,
  );
  return {
    queue,
    waits,
    row: () => row,
    change: (changes: Partial<BossJob>) => {
      row = { ...row, ...changes };
    },
  };
}

it('a job that was given back by half waits as long as it should, and knows its trouble', async () => {
  const { queue, row, waits } = openQueue();
  await expect(queue.giveBack(taken, 30_000, trouble)).rejects.toThrow('lost');
  await queue.giveBack(taken, 30_000, trouble);
  expect(row()).toMatchObject({ state: 'retry', data: { ...job, trouble } });
  expect(waits).toEqual([30]);
});

it.each([
  ['that was enqueued anew since', { data: { ...job, config: '{"new":1}' } }],
  ['that another worker has now', { state: 'active', retryCount: 1 }],
] as const)('a job %s is left as it is', async (_, changes) => {
  const { queue, row, waits, change } = openQueue();
  await expect(queue.giveBack(taken, 30_000, trouble)).rejects.toThrow('lost');
  change(changes);
  const before = row();
  await queue.giveBack(taken, 30_000, trouble);
  expect(row()).toEqual(before);
  expect(waits).toEqual([]);
});
