/** Spacing, order, pauses and aborts of the rate limiter, on a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RateLimiter } from '../../src/api/rate-limiter.js';
import type { Operation } from '../../src/api/requests.js';
import { noSignal } from '../helpers/api/test-client.js';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'],
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Counts the timers of the limiter alone: what earlier tests of the worker left may set others at any time. */
function countTimers(): () => number {
  const pending = new Set<unknown>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, time: number) => {
    if (!new Error().stack!.includes('src/api/rate-limiter.ts')) return set(run, time);
    const timer = set(() => {
      pending.delete(timer);
      run();
    }, time);
    pending.add(timer);
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    pending.delete(timer);
    clear(timer);
  });
  return () => pending.size;
}

/** A timer is a millisecond late where the clock's fractions do not add up. */
function tensOf(time: number): number {
  return 10 * Math.round(time / 10);
}

/** Waits under a name, records when it passed, and is written at once. */
function createQueue(limiter: RateLimiter) {
  const start = performance.now();
  const passed: string[] = [];
  const wait = (name: string, signal = noSignal, operation: Operation = 'track') =>
    limiter.wait(signal, operation).then((written) => {
      passed.push(`${name} ${tensOf(performance.now() - start)}`);
      written();
    });
  return { wait, passed };
}

test('lets a number of requests pass in any second, first come, first served', async () => {
  const { wait, passed } = createQueue(new RateLimiter(2));
  for (const name of ['a', 'b', 'c']) void wait(name);
  await vi.advanceTimersByTimeAsync(400);
  expect(passed).toEqual(['a 0', 'b 0']);
  await vi.advanceTimersByTimeAsync(800);
  expect(passed.slice(2)).toEqual(['c 1000']);
  for (const name of ['d', 'e']) void wait(name);
  await vi.advanceTimersByTimeAsync(1000);
  expect(passed.slice(3)).toEqual(['d 1200', 'e 2000']);
});

test('a fraction is reached over more than a second', async () => {
  const { wait, passed } = createQueue(new RateLimiter(0.5));
  for (const name of ['a', 'b', 'c']) void wait(name);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(passed).toEqual(['a 0', 'b 2000', 'c 4000']);
});

test('a pause holds all requests, also those that wait already, and the longest pause counts', async () => {
  const limiter = new RateLimiter(1);
  const { wait, passed } = createQueue(limiter);
  for (const name of ['a', 'b', 'c']) void wait(name);
  await vi.advanceTimersByTimeAsync(0);
  limiter.pause(5000);
  limiter.pause(20);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(passed).toEqual(['a 0', 'b 5000', 'c 6000']);
});

test('a request holds its place until it is written, counts from then on, and only once', async () => {
  const limiter = new RateLimiter(2);
  const { wait, passed } = createQueue(limiter);
  const written = limiter.wait(noSignal, 'track');
  for (const name of ['b', 'c', 'd', 'e']) void wait(name);
  await vi.advanceTimersByTimeAsync(1500);
  expect(passed).toEqual(['b 0', 'c 1000']);
  await vi.advanceTimersByTimeAsync(100);
  (await written)();
  (await written)();
  await vi.advanceTimersByTimeAsync(1100);
  expect(passed.slice(2)).toEqual(['d 2000', 'e 2600']);
});

test('where all places are held, the next request waits for one that is written, without a timer', async () => {
  const timers = countTimers();
  const limiter = new RateLimiter(1);
  const { wait, passed } = createQueue(limiter);
  const written = await limiter.wait(noSignal, 'track');
  void wait('b');
  await vi.advanceTimersByTimeAsync(5000);
  expect(timers()).toBe(0);
  written();
  await vi.advanceTimersByTimeAsync(1000);
  expect(passed).toEqual(['b 6000']);
});

test('a pause keeps no timer when no request waits', async () => {
  const timers = countTimers();
  const limiter = new RateLimiter(10);
  limiter.pause(3_600_000);
  const controller = new AbortController();
  const left = limiter.wait(controller.signal, 'track').catch(() => 'left');
  expect(timers()).toBe(1);
  controller.abort();
  expect(await left).toBe('left');
  expect(timers()).toBe(0);
});

test('says when no pause is in force any more, so that nothing is begun within one', async () => {
  vi.useRealTimers();
  const limiter = new RateLimiter(10);
  await limiter.ready(noSignal);
  const from = performance.now();
  limiter.pause(40);
  const ready = limiter.ready(noSignal);
  limiter.pause(80);
  await ready;
  expect(performance.now() - from).toBeGreaterThanOrEqual(80);
  limiter.pause(3_600_000);
  const controller = new AbortController();
  const left = limiter.ready(controller.signal);
  controller.abort('left');
  await expect(left).rejects.toBe('left');
});
