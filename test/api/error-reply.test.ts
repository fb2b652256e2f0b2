/** The Retry-After header. */
import { expect, test } from 'vitest';
import { parseRetryAfter, retryAfterOf } from '../../src/api/error-reply.js';

const NOW = Date.parse('2026-11-21T03:00:00Z');

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  // A service may send anything; a time that is not finite has no text.
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ['Sat, 21 Nov 2026 03:02:00 GMT', 120_000],
  ['Saturday, 21-Nov-26 03:02:00 GMT', 120_000],
  ['Sat, 21 Nov 2026 02:00:00 GMT', 0],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['2026-11-21', null],
  ['Sat, 99 Xxx 2026 03:02:00 GMT', null],
  ['', null],
  [undefined, null],
])('%j means %j ms', (value, expected) => {
  expect(parseRetryAfter(value, NOW)).toBe(expected);
});

test('a date is by the clock of its sender, which may be hours off', () => {
  const at = (time: number) => new Date(time).toUTCString();
  const headers = (retryAfter: string, date?: string) => ({
    header: (name: string) => ({ 'retry-after': retryAfter, date })[name],
  });
  const there = NOW - 5 * 3_600_000;
  expect(retryAfterOf(headers(at(there + 30_000), at(there)))).toBe(30_000);
  expect(retryAfterOf(headers(at(there), at(there + 1_000)))).toBe(0);
  expect(retryAfterOf(headers('7', at(there)))).toBe(7_000);
  for (const date of ['yesterday', undefined]) {
    const wait = retryAfterOf(headers(at(Date.now() + 60_000), date))!;
    expect(wait).toBeGreaterThan(50_000);
    expect(wait).toBeLessThanOrEqual(60_000);
  }
});
