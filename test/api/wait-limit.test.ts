import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WaitLimit } from '../../src/api/send-request.js';

let given: (Error & { code?: string })[];
const giveUp = (error: Error): void => void given.push(error);

beforeEach(() => {
  given = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('gives up the phase that is waited for, once, and says which it was', () => {
  const limit = new WaitLimit();
  limit.begin('CONNECT_TIMEOUT', 50, giveUp);
  vi.advanceTimersByTime(40);
  limit.begin('HEADERS_TIMEOUT', 100, giveUp);
  vi.advanceTimersByTime(99);
  expect(given).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(given.map(({ code, message }) => [code, message])).toEqual([
    ['HEADERS_TIMEOUT', 'nothing came for 100 ms'],
  ]);
});

test('does not count while nobody waits, and counts from the begin when somebody does again', () => {
  const limit = new WaitLimit();
  limit.begin('BODY_TIMEOUT', 100, giveUp);
  limit.pause();
  vi.advanceTimersByTime(1000);
  limit.resume();
  vi.advanceTimersByTime(99);
  expect(given).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(given).toHaveLength(1);
});

test('that has ended gives nothing up', () => {
  const limit = new WaitLimit();
  limit.begin('BODY_TIMEOUT', 100, giveUp);
  limit.end();
  vi.advanceTimersByTime(1000);
  expect(given).toEqual([]);
});
