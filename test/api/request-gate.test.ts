/** Spacing, order, pauses and aborts of the gate, on a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestGate } from '../../src/api/rate-limiter.js';
import { noSignal } from '../helpers/api-client.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Enters under a name and notes when it passed. */
function createEntrance(gate: RequestGate) {
  const start = performance.now();
  const passed: string[] = [];
  const enter = (name: string, signal = noSignal) =>
    gate.enter(signal).then(() => passed.push(`${name} ${performance.now() - start}`));
  return { enter, passed };
}

test('lets so many pass a second, first come first served', async () => {
  const { enter, passed } = createEntrance(new RequestGate(4));
  for (const name of ['a', 'b', 'c']) void enter(name);
  await vi.advanceTimersByTimeAsync(1000);
  expect(passed).toEqual(['a 0', 'b 250', 'c 500']);
  void enter('d');
  await vi.advanceTimersByTimeAsync(0);
  expect(passed.at(-1)).toBe('d 1000');
});

test('a pause holds everybody, the ones that wait already too, and the longest one counts', async () => {
  const gate = new RequestGate(10);
  const { enter, passed } = createEntrance(gate);
  for (const name of ['a', 'b', 'c']) void enter(name);
  await vi.advanceTimersByTimeAsync(0);
  gate.pause(5000);
  gate.pause(20);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(passed).toEqual(['a 0', 'b 5000', 'c 5100']);
});

test('who aborts leaves the row and is not counted', async () => {
  const { enter, passed } = createEntrance(new RequestGate(10));
  const controller = new AbortController();
  void enter('a');
  const left = enter('b', controller.signal).catch((error: unknown) => error);
  void enter('c');
  controller.abort(new Error('stop'));
  expect(await left).toBe(controller.signal.reason);
  await vi.advanceTimersByTimeAsync(1000);
  expect(passed).toEqual(['a 0', 'c 100']);
});

test('a pause for which nobody waits keeps no timer', async () => {
  const gate = new RequestGate(10);
  gate.pause(3_600_000);
  const controller = new AbortController();
  const left = gate.enter(controller.signal).catch(() => 'left');
  expect(vi.getTimerCount()).toBe(1);
  controller.abort();
  expect(await left).toBe('left');
  expect(vi.getTimerCount()).toBe(0);
});
