/** What `foliopipe enqueue` adds to what it has done: what is missing, and what to type next. */
import { expect, it } from 'vitest';
import { type EnqueuedJob, enqueuedText } from '../../../src/cli/fleet/enqueue-text.js';

const told = (job: Partial<EnqueuedJob> & Pick<EnqueuedJob, 'state'>, workers: number) =>
  enqueuedText(
    [
      { pipeline: 'other', state: 'removed' },
      { pipeline: 'east', ...job },
    ],
    workers,
  );

it.each<[EnqueuedJob['state'], boolean, boolean]>([
  ['enqueued', true, true],
  ['waiting', true, true],
  ['behind', true, true],
  ['scheduled', true, false],
  ['unscheduled', false, false],
  ['not scheduled', false, false],
  ['removed', false, false],
])('%s: needs a worker: %s, has progress to see: %s', (state, needsWorker, hasProgress) => {
  const job = { state, schedule: '0 1 * * *', timeZone: 'UTC', next: 86_400_000 };
  const [noWorker, progress] = ['no worker is running; start one with: ', 'see the progress with: '];
  expect(told(job, 0).includes(noWorker)).toBe(needsWorker);
  expect(told(job, 1)).not.toContain(noWorker);
  expect(told(job, 1).includes(progress)).toBe(hasProgress);
  expect(told(job, 1)).toMatch(/^other: .*\neast: .*\n/);
});

it('says what a removal leaves', () => {
  expect(told({ state: 'removed' }, 1)).toMatch(/east: there was nothing to remove\n$/);
  const removed = ['job', 'schedule'];
  expect(told({ state: 'removed', removed }, 1)).toMatch(/east: removed: job, schedule\n$/);
  expect(told({ state: 'removed', removed, isWorked: true }, 1)).toContain(
    'removed: job, schedule; the run that a worker does now goes on',
  );
});

it('names the command for a schedule that differs from that of the config', () => {
  const again = 'register it with: foliopipe enqueue --schedule';
  expect(told({ state: 'enqueued', isScheduleStale: true }, 1)).toContain(again);
  expect(told({ state: 'enqueued', isScheduleStale: false }, 1)).not.toContain(again);
});
