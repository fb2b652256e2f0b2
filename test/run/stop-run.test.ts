/** The deadline of a run, on timers and a wall clock that the test moves apart. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeadlineError } from '../../src/errors.js';
import { stopAtDeadline } from '../../src/run/stop-run.js';
import { systemClock } from '../../src/streams/clock.js';

const day = 86_400_000;
let controller: AbortController;

beforeEach(() => {
  controller = new AbortController();
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

test('a deadline beyond the longest timer is kept', () => {
  stopAtDeadline(controller, Date.now() + 40 * day, systemClock);
  vi.advanceTimersByTime(40 * day - 1);
  expect(controller.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(controller.signal.reason).toBeInstanceOf(DeadlineError);
  expect(vi.getTimerCount()).toBe(0);
});

test('a deadline that passes while the machine sleeps, and its timers with it, ends the run soon after', () => {
  stopAtDeadline(controller, Date.now() + day, systemClock);
  vi.advanceTimersByTime(1000);
  vi.setSystemTime(Date.now() + 2 * day);
  vi.advanceTimersByTime(60_000);
  expect(controller.signal.reason).toMatchObject({ code: 'DEADLINE_REACHED', exitCode: 8 });
});

test('a deadline that has passed ends the run at once, and one that is closed never', async () => {
  stopAtDeadline(controller, Date.now() - 1, systemClock);
  expect(controller.signal.aborted).toBe(true);
  const other = new AbortController();
  await stopAtDeadline(other, Date.now() + 1000, systemClock).close();
  vi.advanceTimersByTime(2000);
  expect(other.signal.aborted).toBe(false);
});
