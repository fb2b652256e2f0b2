/** What stops a run: its deadline, on timers and a wall clock that the test moves apart, and a lost lock; and its uploads. */
import { beforeEach, expect, test } from 'vitest';
import { DeadlineError } from '../../../src/errors.js';
import { endUploads, stopAtDeadline, stopWhenLost } from '../../../src/run/open/stop-run.js';
import type { Clock } from '../../../src/streams/clock.js';
import { createGates, turns } from '../../helpers/streams/gates.js';
import { createVirtualClock } from '../../helpers/streams/virtual-clock.js';

const day = 86_400_000;
const minute = 60_000;
let controller: AbortController;

beforeEach(() => {
  controller = new AbortController();
});

const stopped = () => new Promise((resolve) => controller.signal.addEventListener('abort', resolve));

test('a deadline is kept to the millisecond, by waits of a minute at most: a timer has a longest time', async () => {
  const clock = createVirtualClock();
  const deadline = clock.now() + 60 * minute + 17;
  const waits = stopAtDeadline(controller, deadline, clock);
  await stopped();
  expect(clock.now()).toBe(deadline);
  expect(controller.signal.reason).toBeInstanceOf(DeadlineError);
  expect(clock.slept).toEqual([...Array.from({ length: 60 }, () => minute), 17]);
  await waits.close();
});

test('a deadline that passes while the machine sleeps, and its timers with it, ends the run soon after', async () => {
  let slept = 0;
  const clock: Clock = {
    now: () => slept,
    sleep: async (time) => {
      expect(time).toBe(minute);
      slept += 2 * day;
    },
  };
  const waits = stopAtDeadline(controller, day, clock);
  await stopped();
  expect(controller.signal.reason).toMatchObject({ code: 'DEADLINE_REACHED', exitCode: 8 });
  await waits.close();
});

test('a deadline that has passed ends the run at once, and one that is closed never', async () => {
  const clock = createVirtualClock();
  stopAtDeadline(controller, clock.now() - 1, clock);
  expect(controller.signal.aborted).toBe(true);
  const other = new AbortController();
  await stopAtDeadline(other, clock.now() + 1000, clock).close();
  await clock.sleep(2000, new AbortController().signal);
  await turns();
  expect(other.signal.aborted).toBe(false);
});

test('a lock that is lost ends the run, also if that was before the run could listen', () => {
  const lease = new AbortController();
  const lock = { lost: lease.signal, close: async () => undefined };
  stopWhenLost(controller, lock);
  expect(controller.signal.aborted).toBe(false);
  lease.abort('lost');
  expect(controller.signal.reason).toBe('lost');
  const late = new AbortController();
  stopWhenLost(late, lock);
  expect(late.signal.reason).toBe('lost');
});

test('uploads in flight are waited for, also one that begins meanwhile and one that fails', async () => {
  const inFlight = new Set<Promise<unknown>>();
  const gates = createGates<string>();
  const begin = (name: string) => {
    const upload: Promise<unknown> = gates.enter(name).finally(() => inFlight.delete(upload));
    inFlight.add(upload);
  };
  begin('first');
  let ended = false;
  const waiting = endUploads(inFlight).then(() => {
    ended = true;
  });
  await turns();
  begin('second');
  gates.open('first', '');
  await turns();
  expect(ended).toBe(false);
  gates.fail('second', new Error('refused'));
  await waiting;
});
