import { expect, test } from 'vitest';
import { age, duration, share, size, timerDuration } from '../../../src/config/sections/values.js';

test.each([
  ['500ms', 500],
  ['10s', 10_000],
  ['1.5s', 1500],
  ['15m', 900_000],
  ['6h', 21_600_000],
  ['30d', 2_592_000_000],
  ['2 h', 7_200_000],
])('the duration %s is %d ms', (text, ms) => {
  expect(duration.parse(text)).toBe(ms);
});

test.each([10, '10', '', '-5s', '0s', '10 lightyears', '1mo', '10s 5ms', null])(
  'the duration %j is refused',
  (value) => {
    expect(duration.safeParse(value).success).toBe(false);
  },
);

test('an age is a duration of up to years, or 0', () => {
  expect(age.parse(0)).toBe(0);
  expect(age.parse('90d')).toBe(7_776_000_000);
  expect(age.parse('10y')).toBe(315_576_000_000);
  for (const value of ['0', 1, -1, '', '90', null]) expect(age.safeParse(value).success).toBe(false);
});

test('a duration longer than a timer can wait is refused for timers', () => {
  expect(timerDuration.safeParse('24d').success).toBe(true);
  expect(timerDuration.safeParse('25d').success).toBe(false);
});

test.each([
  ['8MB', 8_388_608],
  ['1.5kb', 1536],
  ['2048b', 2048],
  ['1 GB', 1_073_741_824],
  [5000, 5000],
])('the size %j is %d bytes', (value, bytes) => {
  expect(size(1024, 2 ** 30).parse(value)).toBe(bytes);
});

test.each(['8', '8MiB', 'MB', '-8MB', '1023b', 1023, 2 ** 30 + 1, '1.1GB', '1TB', 5000.5, null])(
  'the size %j is refused',
  (value) => {
    expect(size(1024, 2 ** 30).safeParse(value).success).toBe(false);
  },
);

test.each([
  ['5%', 0.05],
  ['0%', 0],
  ['100%', 1],
  ['0.5 %', 0.005],
  [0.05, 0.05],
  [1, 1],
])('the share %j is %d', (value, expected) => {
  expect(share.parse(value)).toBeCloseTo(expected, 12);
});

test.each(['5', '101%', '-1%', 5, -0.1, Number.NaN, null])('the share %j is refused', (value) => {
  expect(share.safeParse(value).success).toBe(false);
});
