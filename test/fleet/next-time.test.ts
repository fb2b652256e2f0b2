import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readCron } from '../../src/config/sections/schedule-section.js';
import { lastTime, nextTime } from '../../src/fleet/next-time.js';

const at = (text: string) => Date.parse(text);
const next = (line: string, after: string, zone = 'UTC') => {
  const found = nextTime(line, zone, at(after));
  return found === undefined ? undefined : new Date(found).toISOString().replace(':00.000Z', 'Z');
};

it.each([
  ['0 1 * * *', '2026-11-23T01:00:00Z', 'UTC', '2026-11-24T01:00Z'],
  ['0 1 * * *', '2026-11-23T00:59:59Z', 'UTC', '2026-11-23T01:00Z'],
  ['*/15 8-17 * * mon-fri', '2026-11-27T17:50:00Z', 'UTC', '2026-11-30T08:00Z'],
  ['30 0 * * *', '2026-11-22T23:00:00Z', 'Europe/Zurich', '2026-11-22T23:30Z'],
  ['0 20 * * *', '2026-11-23T00:00:00Z', 'America/Denver', '2026-11-23T03:00Z'],
  ['0 0 29 2 *', '2026-11-23T00:00:00Z', 'UTC', '2028-02-29T00:00Z'],
  // One of both kinds of days is enough.
  ['0 0 13 * fri', '2026-11-23T00:00:00Z', 'UTC', '2026-11-27T00:00Z'],
  ['0 0 * * 7', '2026-11-23T00:00:00Z', 'UTC', '2026-11-29T00:00Z'],
  // The clocks skip this time, and are put back at that one.
  ['30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Zurich', '2026-03-29T01:30Z'],
  ['30 3 * * *', '2026-10-24T12:00:00Z', 'Europe/Zurich', '2026-10-25T02:30Z'],
])('%s after %s in %s is due at %s', (line, after, zone, expected) => {
  expect(next(line, after, zone)).toBe(expected);
});

it.each([
  '',
  '* * * *',
  '0 0 1 * * *',
  '60 * * * *',
  '* * 0 * *',
  '5/15 * * * *',
  '*/0 * * * *',
  '5-1 * * * *',
  '@daily',
  'a * * * *',
  '0 0 31 feb,apr *',
])('refuses %s', (line) => {
  expect(readCron(line)).toHaveProperty('problem');
});

/** In UTC, where no clock is changed, a plain search gives the same. */
it('is the first minute that fits', () => {
  const field = (most: number, least = 0) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min: least, max: most }).map(String),
      fc.integer({ min: 1, max: 20 }).map((step) => `*/${step}`),
    );
  const line = fc.tuple(field(59), field(23), field(28, 1), field(12, 1), field(6));
  const instants = fc.integer({ min: at('2025-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') });
  fc.assert(
    fc.property(line, instants, (fields, after) => {
      const text = fields.join(' ');
      const found = nextTime(text, 'UTC', after);
      expect(found).toBeGreaterThan(after);
      expect(fits(text, found!)).toBe(true);
      const before = Array.from({ length: 200 }, (_, minutes) => found! - (minutes + 1) * 60_000);
      expect(before.filter((instant) => instant > after && fits(text, instant))).toEqual([]);
      expect(lastTime(text, 'UTC', found! + 59_999)).toBe(found);
      expect(lastTime(text, 'UTC', found! - 1) ?? 0).toBeLessThanOrEqual(after);
    }),
    { numRuns: 100 },
  );
});

function fits(line: string, instant: number): boolean {
  const times = readCron(line);
  if ('problem' in times) throw new Error(times.problem);
  const day = new Date(instant);
  const isDay = times.days.has(day.getUTCDate());
  const isWeekday = times.weekdays.has(day.getUTCDay());
  return (
    times.minutes.has(day.getUTCMinutes()) &&
    times.hours.has(day.getUTCHours()) &&
    times.months.has(day.getUTCMonth() + 1) &&
    (times.isEitherDay ? isDay || isWeekday : isDay && isWeekday)
  );
}
