/** The timeout of a request's phases, on a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PhaseTimeout } from '../../src/api/send-request.js';

let errors: (Error & { code?: string })[];
const onTimeout = (error: Error): void => void errors.push(error);

beforeEach(() => {
  errors = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('ends the current phase once, and says which one it was', () => {
  const timeout = new PhaseTimeout();
  timeout.begin('CONNECT_TIMEOUT', 50, onTimeout);
  vi.advanceTimersByTime(40);
  timeout.begin('HEADERS_TIMEOUT', 100, onTimeout);
  vi.advanceTimersByTime(99);
  expect(errors).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(errors.map(({ code, message }) => [code, message])).toEqual([
    ['HEADERS_TIMEOUT', 'nothing came for 100 ms'],
  ]);
});

test('does not count while it is paused, and starts from zero when it is resumed', () => {
  const timeout = new PhaseTimeout();
  timeout.begin('BODY_TIMEOUT', 100, onTimeout);
  timeout.pause();
  vi.advanceTimersByTime(1000);
  timeout.resume();
  vi.advanceTimersByTime(99);
  expect(errors).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(errors).toHaveLength(1);
});

test('does nothing after its end', () => {
  const timeout = new PhaseTimeout();
  timeout.begin('BODY_TIMEOUT', 100, onTimeout);
  timeout.end();
  vi.advanceTimersByTime(1000);
  expect(errors).toEqual([]);
});
