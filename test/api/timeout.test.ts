/** Time-outs of requests, on timers and clocks that the test moves. */
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openAwakeClock, Timeout, withGrace } from '../../src/api/timeout.js';
import { longestTimerMs } from '../../src/quantities.js';

/** On fake timers a turn of the event loop takes a millisecond. */
const TURN = 2;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  // In this order: a spy would put the fake timer back, for all later files of the worker.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a time-out', () => {
  let ended: string[];
  let timeout: Timeout;
  const end = (what: string) => () => void ended.push(what);

  beforeEach(() => {
    ended = [];
    timeout = new Timeout({ now: () => performance.now() });
  });

  test('ends what was begun last, once', () => {
    timeout.begin(50, end('connect'));
    vi.advanceTimersByTime(40);
    timeout.begin(100, end('headers'));
    vi.advanceTimersByTime(99);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(ended).toEqual(['headers']);
  });

  test('does not count while it is paused, and starts from zero when it is resumed', () => {
    timeout.begin(100, end('body'));
    timeout.pause();
    vi.advanceTimersByTime(1050);
    timeout.resume();
    vi.advanceTimersByTime(99);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(TURN);
    expect(ended).toEqual(['body']);
  });

  test('does nothing after its end', () => {
    timeout.begin(100, end('body'));
    timeout.end();
    vi.advanceTimersByTime(1000);
    expect(ended).toEqual([]);
  });

  test.each(['end', 'resume'] as const)(
    'lets the sockets be read first: %s after its timer, in the same turn',
    (change) => {
      vi.useRealTimers();
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
      timeout.begin(100, end('headers'));
      vi.advanceTimersByTime(5000);
      timeout[change]();
      return new Promise<void>((resolve) => setImmediate(resolve)).then(() => expect(ended).toEqual([]));
    },
  );

  test('may be longer than a timer can wait', () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    timeout.begin(longestTimerMs + 1000, end('upload'));
    vi.advanceTimersByTime(longestTimerMs + 999);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(TURN + 1);
    expect(ended).toEqual(['upload']);
    for (const [, time] of timers.mock.calls) expect(time).toBeLessThanOrEqual(longestTimerMs);
  });

  test('goes on where it was after a sleep', () => {
    let slept = 0;
    timeout = new Timeout({ now: () => performance.now() - slept });
    timeout.begin(100, end('headers'));
    vi.advanceTimersByTime(60);
    slept = 60;
    vi.advanceTimersByTime(99);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(TURN);
    expect(ended).toEqual(['headers']);
  });
});

describe('the clock', () => {
  test('runs with time, and counts a gap as two seconds at most', () => {
    let time = 5000;
    vi.spyOn(performance, 'now').mockImplementation(() => time);
    const gaps: number[] = [];
    const clock = openAwakeClock((gap) => void gaps.push(gap));
    const began = clock.now();
    const tickAfter = (passed: number) => {
      time += passed;
      vi.advanceTimersByTime(500);
      return clock.now() - began;
    };
    expect(tickAfter(500)).toBe(500);
    expect(tickAfter(1400)).toBe(1900);
    time += 100;
    expect(clock.now() - began).toBe(2000);
    time += 3_600_000;
    // Before the tick, too: its timer may come later than the timers of requests.
    expect(clock.now() - began).toBe(3900);
    expect(tickAfter(0)).toBe(3900);
    expect(gaps).toEqual([3_600_100 - 2000]);
    expect(tickAfter(500)).toBe(4400);
    clock.close();
  });
});

describe('work that may be paid for', () => {
  const times = { grace: 1000, clock: { now: () => performance.now() } };

  test('leaves no timer and no listener behind', async () => {
    const [stop, never] = [new AbortController(), new AbortController()];
    const work = withGrace(times, stop.signal, async (_, begun) => {
      begun();
      stop.abort();
      return 'reply';
    });
    expect(await work).toBe('reply');
    expect(vi.getTimerCount()).toBe(0);
    await withGrace(times, never.signal, async () => 'reply');
    expect(getEventListeners(never.signal, 'abort')).toEqual([]);
  });

  test('does not begin after an abort', async () => {
    const reason = new Error('SIGTERM');
    const work = vi.fn();
    await expect(withGrace(times, AbortSignal.abort(reason), work)).rejects.toBe(reason);
    expect(work).not.toHaveBeenCalled();
  });
});
