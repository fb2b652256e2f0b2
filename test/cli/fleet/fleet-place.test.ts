/** A worker that waits for a database logs that again and again: a wrong host name looks like an outage. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { waitForDatabase } from '../../../src/cli/fleet/fleet-place.js';
import { TroubleError } from '../../../src/errors.js';
import { createLogBackoff } from '../../../src/fleet/times.js';
import { silentLogger } from '../../../src/logger.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('a lasting problem is logged at once, and then at growing intervals', () => {
  const shouldLog = createLogBackoff();
  const said: number[] = [];
  for (let minutes = 0; minutes <= 60; minutes += 0.25) {
    if (shouldLog()) said.push(minutes);
    vi.advanceTimersByTime(15_000);
  }
  expect(said).toEqual([0, 0.5, 1.5, 3.5, 7.5, 15.5, 30.5, 45.5]);
});

it('a worker logs each new reason at once, and the same reason again later', async () => {
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message = '') => void said.push(message) };
  const stop = new AbortController();
  const reasons = ['ENOTFOUND', 'ENOTFOUND', 'later', 'ECONNREFUSED'];
  const work = async () => {
    let reason = reasons.shift()!;
    if (reasons.length === 0) stop.abort();
    if (reason === 'later') {
      vi.advanceTimersByTime(60_000);
      reason = 'ENOTFOUND';
    }
    throw new TroubleError('STATE_DATABASE_DOWN', reason);
  };
  expect(await waitForDatabase(work, { who: 'the worker', signal: stop.signal, logger })).toBeUndefined();
  expect(said).toEqual(
    ['ENOTFOUND', 'ENOTFOUND', 'ECONNREFUSED'].map((one) => `${one}; the worker waits for it`),
  );
}, 30_000);
