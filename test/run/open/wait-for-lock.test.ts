import { expect, it } from 'vitest';
import { LeaseHeldError } from '../../../src/checkpoint/pipeline-lock.js';
import type { JobEvent } from '../../../src/progress/events.js';
import { waitForLock } from '../../../src/run/open/open-state.js';
import { listen } from '../../helpers/jobs/done-job.js';
import { createVirtualClock } from '../../helpers/streams/virtual-clock.js';

it('a wait for a lease that nobody renews ends with the lease, and says when that is', async () => {
  const clock = createVirtualClock();
  const began = clock.now();
  const end = began + 22_000;
  const lock = {
    take: async () => {
      if (clock.now() >= end) return { close: async () => undefined };
      const lease = { until: 'then', leftMs: end - clock.now() };
      throw new LeaseHeldError('PIPELINE_LOCKED', 'process 7 on a runs it', {}, lease);
    },
  };
  const { said, logger } = listen();
  const told: JobEvent[] = [];
  const holder = { pid: 1, command: 'run', since: 0 };
  const request = { pipeline: 'p', holder, wait: 0, onProgress: (event: JobEvent) => void told.push(event) };
  await waitForLock(lock, request, { clock, logger, signal: new AbortController().signal });
  expect(clock.now()).toBe(end);
  const why = 'process 7 on a runs it; its lease ends in 22s unless renewed';
  expect(told).toEqual([{ type: 'waiting', on: 'lock', since: began, until: end, why }]);
  expect(said).toEqual([`waiting for the lock: ${why}`]);
});

it.each([
  [
    'a lease',
    { lost: new AbortController().signal },
    'the lease of p could not be given back, and ends by itself: away',
  ],
  ['a lock of the system', {}, 'the lock is free, but its files cannot be removed: away'],
])('what remains of %s that cannot be closed is logged, and fails nothing', async (_, kind, text) => {
  const close = () => Promise.reject(new Error('away'));
  const { said, logger } = listen();
  const request = { pipeline: 'p', holder: { pid: 1, command: 'run', since: 0 }, wait: 0 };
  const context = { clock: createVirtualClock(), logger, signal: new AbortController().signal };
  const held = await waitForLock({ take: async () => ({ ...kind, close }) }, request, context);
  await held.close();
  expect(said).toEqual([text]);
});
