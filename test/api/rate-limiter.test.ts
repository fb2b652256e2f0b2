/** Spacing, order, pauses and aborts of the rate limiter, on a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RateLimiter } from '../../src/api/rate-limiter.js';
import { noSignal } from '../helpers/api/test-client.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Waits under a name and records when it passed. */
function createQueue(limiter: RateLimiter) {
  const start = performance.now();
  const passed: string[] = [];
  const wait = (name: string, signal = noSignal) =>
    limiter.wait(signal).then(() => passed.push(`${name} ${performance.now() - start}`));
  return { wait, passed };
}

test('lets a number of requests pass each second, first come, first served', async () => {
  const { wait, passed } = createQueue(new RateLimiter(4));
  for (const name of ['a', 'b', 'c']) void wait(name);
  await vi.advanceTimersByTimeAsync(1000);
  expect(passed).toEqual(['a 0', 'b 250', 'c 500']);
  void wait('d');
  await vi.advanceTimersByTimeAsync(0);
  expect(passed.at(-1)).toBe('d 1000');
});

test('a pause holds all requests, also those that wait already, and the longest pause counts', async () => {
  const limiter = new RateLimiter(10);
  const { wait, passed } = createQueue(limiter);
  for (const name of ['a', 'b', 'c']) void wait(name);
  await vi.advanceTimersByTimeAsync(0);
  limiter.pause(5000);
  limiter.pause(20);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(passed).toEqual(['a 0', 'b 5000', 'c 5100']);
});

test('an aborted request leaves the queue and does not count', async () => {
  const { wait, passed } = createQueue(new RateLimiter(10));
  const controller = new AbortController();
  void wait('a');
  const left = wait('b', controller.signal).catch((error: unknown) => error);
  void wait('c');
  controller.abort(new Error('stop'));
  expect(await left).toBe(controller.signal.reason);
  await vi.advanceTimersByTimeAsync(1000);
  expect(passed).toEqual(['a 0', 'c 100']);
});

test('a pause keeps no timer when no request waits', async () => {
  const limiter = new RateLimiter(10);
  limiter.pause(3_600_000);
  const controller = new AbortController();
  const left = limiter.wait(controller.signal).catch(() => 'left');
  expect(vi.getTimerCount()).toBe(1);
  controller.abort();
  expect(await left).toBe('left');
  expect(vi.getTimerCount()).toBe(0);
});
