import { expect, it } from 'vitest';
import type { JobEvent } from '../../src/progress/events.js';
import { createWaits } from '../../src/progress/waits.js';

it('tells each wait when it begins, and lists those of now', () => {
  let now = 1_000_000;
  const told: JobEvent[] = [];
  const waits = createWaits(
    (event) => void told.push(event),
    () => now,
  );
  waits.throttled(12_000, 'the service answered 429');
  const throttle = { on: 'throttle', since: now, until: now + 12_000, why: 'the service answered 429' };
  waits.throttled(5_000, 'the service answered 429');
  expect(waits.list()).toEqual([throttle]);
  now += 1_000;
  waits.failing('track', 3_000, 7_000, 'track fails: ECONNRESET');
  waits.failing('track', 4_000, 6_000, 'track fails: EPIPE');
  const outage = { on: 'outage', since: now - 4_000, until: now + 6_000, why: 'track fails: EPIPE' };
  expect(waits.list()).toEqual([outage, throttle]);
  now = throttle.until;
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
  let now = 1_000_000;
  const told: JobEvent[] = [];
  const waits = createWaits(
    (event) => void told.push(event),
    () => now,
  );
  waits.throttled(5_000, 'the service answered 429');
  now += 60_000;
  waits.throttled(5_000, 'the service answered 503');
  expect(told).toMatchObject([{ why: 'the service answered 429' }, { since: now, until: now + 5_000 }]);
});
