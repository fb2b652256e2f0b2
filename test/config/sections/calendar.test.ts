import { expect, test } from 'vitest';
import { dayOf, monthOf } from '../../../src/config/sections/calendar.js';

const at = Date.parse('2026-11-30T23:30:00Z');

test.each([
  ['UTC', '2026-11-30', '2026-11'],
  ['Europe/Berlin', '2026-12-01', '2026-12'],
  ['America/Denver', '2026-11-30', '2026-11'],
])('day and month are those of %s', (timeZone, day, month) => {
  expect(dayOf(at, timeZone)).toBe(day);
  expect(monthOf(at, timeZone)).toBe(month);
});
