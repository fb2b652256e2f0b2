import { expect, it } from 'vitest';
import type { JobEvent } from '../../src/progress/events.js';
import { createWaits } from '../../src/progress/waits.js';

/** Waits at a time that the test sets, and the events that they have told. */
function createClockedWaits() {
  const clock = { now: 1_000_000 };
  const told: JobEvent[] = [];
  const waits = createWaits(
    (event) => void told.push(event),
    () => clock.now,
  );
  return { clock, told, waits };
}

it('tells each wait when it begins, and lists those of now', () => {
  const { clock, told, waits } = createClockedWaits();
  waits.throttled(12_000, 'the service answered 429');
  const throttle = {
    on: 'throttle',
    since: clock.now,
    until: clock.now + 12_000,
    why: 'the service answered 429',
  };
  waits.throttled(5_000, 'the service answered 429');
  expect(waits.list()).toEqual([throttle]);
  clock.now += 1_000;
  waits.failing('track', 3_000, 7_000, 'track fails: ECONNRESET');
  waits.failing('track', 4_000, 6_000, 'track fails: EPIPE');
  const outage = {
    on: 'outage',
    since: clock.now - 4_000,
    until: clock.now + 6_000,
    why: 'track fails: EPIPE',
  };
  expect(waits.list()).toEqual([outage, throttle]);
  clock.now = throttle.until;
  expect(waits.list()).toEqual([outage]);
  waits.works('track');
  waits.works('upload');
  expect(waits.list()).toEqual([]);
  expect(told).toMatchObject([
    { type: 'waiting', on: 'throttle' },
    { type: 'waiting', on: 'outage', why: 'track fails: ECONNRESET' },
  ]);
});

it('tells a throttle that begins after the last one has passed', () => {
  const { clock, told, waits } = createClockedWaits();
  waits.throttled(5_000, 'the service answered 429');
  clock.now += 60_000;
  waits.throttled(5_000, 'the service answered 503');
  expect(told).toMatchObject([
    { why: 'the service answered 429' },
    { since: clock.now, until: clock.now + 5_000 },
  ]);
});
