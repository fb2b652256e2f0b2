/**
 * The rate limiter on a simulated event loop, whose timers fire early or late, whose turns take time, and which stops for
 * seconds, and whose requests may be written late: no second, wherever it begins, has more requests than allowed, and
 * nearly all that are allowed are reached.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RateLimiter } from '../../src/api/rate-limiter.js';
import { noSignal } from '../helpers/api/test-client.js';

/** A timer or an immediate. */
interface Task {
  readonly at: number;
  readonly run: () => void;
}

/** @param lateness of timer after timer, in ms, and over again. @param turn what each turn of the loop takes. */
function createLoop(lateness: readonly number[], turn: readonly number[]) {
  let now = 0;
  let tasks: Task[] = [];
  let timers = 0;
  let turns = 0;
  const add = (at: number, run: () => void) => {
    const task = { at, run };
    tasks.push(task);
    return task;
  };
  vi.stubGlobal('setTimeout', (run: () => void, delay: number) =>
    add(now + Math.max(delay + lateness[timers++ % lateness.length]!, 0.1), run),
  );
  vi.stubGlobal('setImmediate', (run: () => void) => add(now, run));
  vi.stubGlobal('performance', { now: () => now });
  return {
    now: () => now,
    later: (delay: number, run: () => void) => void add(now + delay, run),
    /** Something takes time in the middle of a turn. */
    spend: (time: number) => {
      now += time;
    },
    /** Runs one task, and what follows from it by promises alone. @returns false if there is none. */
    step: async () => {
      tasks = tasks.sort((a, b) => a.at - b.at);
      const task = tasks.shift();
      if (task === undefined) return false;
      now = Math.max(now, task.at) + turn[turns++ % turn.length]!;
      task.run();
      for (let i = 0; i < 4; i++) await Promise.resolve();
      return true;
    },
  };
}

/** Far more than any job of these tests takes. */
const MAX_STEPS = 200_000;
/** Sums of times are rounded. */
const ROUNDING = 1e-6;

function mostInASecond(times: readonly number[]): number {
  let from = 0;
  return times.reduce((most, time, to) => {
    while (time - times[from]! >= 1000 - ROUNDING) from++;
    return Math.max(most, to - from + 1);
  }, 0);
}

/**
 * Sends request after request. Each opens a connection for some time after its start, or has one at 0, and then takes its
 * time until it is sent.
 */
async function send(
  rate: number,
  count: number,
  loop: ReturnType<typeof createLoop>,
  sending: readonly number[],
  opening: readonly number[],
) {
  const limiter = new RateLimiter(rate);
  const sent: number[] = [];
  for (let i = 0; i < count; i++) {
    void limiter.wait(noSignal, 'track').then((written) => {
      const write = () => {
        written();
        loop.spend(sending[i % sending.length]!);
        sent.push(loop.now());
      };
      const delay = opening[i % opening.length]!;
      if (delay === 0) write();
      else loop.later(delay, write);
    });
  }
  for (let i = 0; i < 4; i++) await Promise.resolve();
  let steps = 0;
  while (await loop.step()) if (++steps > MAX_STEPS) throw new Error('the limiter spins');
  expect(sent).toHaveLength(count);
  return sent;
}

beforeEach(() => void vi.unstubAllGlobals());
afterEach(() => void vi.unstubAllGlobals());

const some = (values: fc.Arbitrary<number>) => fc.array(values, { minLength: 1, maxLength: 40 });
const rates = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.double({ min: 0.2, max: 20, noNaN: true }));

it('no second has more requests than allowed, whatever the loop does', async () => {
  const stop = fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 5_000 }));
  await fc.assert(
    fc.asyncProperty(
      rates,
      some(fc.integer({ min: -1, max: 50 })),
      some(stop),
      some(stop),
      some(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000 }))),
      async (...given) => {
        const [rate, lateness, turn, sending, opening] = given;
        const sent = await send(
          rate,
          Math.min(Math.ceil(4 * rate), 300),
          createLoop(lateness, turn),
          sending,
          opening,
        );
        expect(mostInASecond(sent)).toBeLessThanOrEqual(Math.ceil(rate));
      },
    ),
    { numRuns: 60 },
  );
});

it('nearly all that are allowed are reached where timers are some milliseconds late', async () => {
  const late = some(fc.integer({ min: -1, max: 8 }));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(10, 100, 1000), late, async (rate, lateness) => {
      const sent = await send(rate, 6 * rate, createLoop(lateness, [0.05]), [0.02], [0]);
      const seconds = (sent.at(-1)! - sent[0]!) / 1000;
      // The first second's worth is sent at once.
      expect((sent.length - rate) / seconds / rate).toBeGreaterThan(0.98);
    }),
    { numRuns: 8 },
  );
});
