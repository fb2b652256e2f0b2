import { afterEach, expect, it, vi } from 'vitest';
import { leadOf } from '../../src/streams/clock.js';

const day = 86_400_000;

afterEach(() => {
  vi.useRealTimers();
});

it('takes another clock for ahead when it differs by more than usual, and keeps that until it is wrong', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 10 * day });
  expect(leadOf(10 * day + 50_000, 0)).toBe(0);
  expect(leadOf(9 * day + 0.4, 0)).toBe(-day);
  expect(leadOf(9 * day + 50_000, -day)).toBe(-day);
  vi.setSystemTime(9 * day);
  expect(leadOf(9 * day, -day)).toBe(0);
});
