/** The Retry-After header. */
import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/api/error-reply.js';

const NOW = Date.parse('2026-11-21T03:00:00Z');

test.each([
  ['120', 120_000],
  [' 0 ', 0],
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
