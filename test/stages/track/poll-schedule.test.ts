import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  expectedTime,
  firstDelay,
  type PollProgress,
  pollDelay,
  type Reading,
  rememberTime,
  sweepTime,
} from '../../../src/stages/track/poll-schedule.js';

const limits = { first: 1_000, max: 3_600_000, sweep: 0 };
const minute = 60_000;

/** The wait after a poll at this age; what is not said is not known. */
function delay(elapsed: number, known: Partial<PollProgress> & { percentage?: number } = {}, changes = {}) {
  const { percentage = null, before = null, expected = null } = known;
  return pollDelay({ last: { elapsed, percentage }, before, expected }, { ...limits, ...changes });
}

describe('the wait before the next poll', () => {
  it('grows with the age of a folio of which nothing is known', () => {
    expect([0, 10_000, minute, 100 * minute].map((elapsed) => delay(elapsed))).toEqual([
      1_000, 1_000, 1_800, 180_000,
    ]);
  });

  it('is half of what the speed of the percentage leaves, and at the end all of it', () => {
    const at = (percent: number): Reading => ({ elapsed: percent * 1_000, percentage: percent });
    expect(delay(50_000, { percentage: 50, before: at(25) })).toBe(25_000);
    expect(delay(75_000, { percentage: 75, before: at(50) })).toBe(12_500);
    expect(delay(96_000, { percentage: 96, before: at(90) })).toBe(4_000);
  });

  it('does not take the time in the line for slowness: one reading says nothing of the speed', () => {
    const waiting = { elapsed: 60 * minute, percentage: 0 };
    expect(delay(61 * minute, { percentage: 10, before: waiting })).toBe(109_800);
    const moving = { elapsed: 61 * minute, percentage: 10 };
    expect(delay(62 * minute, { percentage: 20, before: moving })).toBe(4 * minute);
  });

  it('takes no percentage for longer than the folio has lasted', () => {
    expect(delay(2_000, { percentage: 0.2, before: { elapsed: 1_000, percentage: 0.1 } })).toBe(2_000);
  });

  it('is half of what the folios before it took, while that is not over', () => {
    expect(delay(10 * minute, { expected: 30 * minute })).toBe(10 * minute);
    expect(delay(29 * minute, { expected: 30 * minute })).toBe(minute);
    expect(delay(31 * minute, { expected: 30 * minute })).toBe(55_800);
  });

  it('ends at the sooner of both, or at the later where they hardly differ', () => {
    const half = { percentage: 50, before: { elapsed: 25_000, percentage: 25 } };
    expect(delay(50_000, { ...half, expected: 70_000 })).toBe(10_000);
    expect(delay(50_000, { ...half, expected: 170_000 })).toBe(25_000);
    const nearly = { percentage: 96, before: { elapsed: 90_000, percentage: 90 } };
    expect(delay(96_000, { ...nearly, expected: 98_000 })).toBe(4_000);
  });

  it('does not trust a percentage of 100 that is not finished, nor one that falls or stands', () => {
    const before = { elapsed: 50_000, percentage: 50 };
    for (const percentage of [100, 50, 40]) expect(delay(100_000, { percentage, before })).toBe(3_000);
  });

  it('leaves room for the others on the way, and none at the end', () => {
    const sweep = 12_000;
    expect(delay(0, {}, { sweep })).toBe(12_000);
    expect(delay(30_000, { expected: minute }, { sweep })).toBe(15_000);
    expect(delay(45_000, { expected: minute }, { sweep })).toBe(15_000);
    expect(delay(60_000, { expected: minute }, { sweep })).toBe(1_800);
  });

  it('never leaves its limits, whatever the clock and the service say', () => {
    const time = fc.double({ min: -1e12, max: 1e12, noNaN: true });
    const percentage = fc.option(fc.double({ min: 0, max: 100, noNaN: true }));
    const reading = fc.record({ elapsed: time, percentage });
    const progress = fc.record({ last: reading, before: fc.option(reading), expected: fc.option(time) });
    const sweep = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(progress, sweep, (known, pause) => {
        const wait = pollDelay(known, { ...limits, sweep: pause });
        expect(wait).toBeGreaterThanOrEqual(limits.first);
        expect(wait).toBeLessThanOrEqual(limits.max);
      }),
    );
  });
});

describe('the wait before the first poll', () => {
  it('is none while nothing is known, then half of what a folio takes', () => {
    expect(firstDelay(null, limits)).toBe(0);
    expect(firstDelay(4 * minute, limits)).toBe(2 * minute);
    expect(firstDelay(4_000, { ...limits, sweep: 12_000 })).toBe(4_000);
    expect(firstDelay(1_000 * minute, limits)).toBe(60 * minute);
  });
});

it('all open folios may be asked with half of the requests', () => {
  expect(sweepTime(64, 10)).toBe(12_800);
});

describe('what a folio takes', () => {
  it('is not known before the first', () => {
    expect(expectedTime([])).toBeNull();
  });

  it('hardly changes with one in ten that takes ten times as long', () => {
    let times: readonly number[] = [];
    for (let i = 0; i < 40; i++) times = rememberTime(times, i % 10 === 3 ? 10 * minute : minute);
    expect(expectedTime(times)).toBe(0.97 * minute);
  });

  it('follows the newest folios', () => {
    let times: readonly number[] = [];
    for (let i = 0; i < 40; i++) times = rememberTime(times, i < 20 ? minute : 10 * minute);
    expect(expectedTime(times)).toBe(9.7 * minute);
    expect(times.length).toBe(15);
  });
});

describe('folio after folio', () => {
  /** Folios one after the other, of `time(n)` ms each, all of them polled by the rule. */
  function follow(count: number, time: (n: number) => number, tell: (share: number) => number | null) {
    let times: readonly number[] = [];
    return Array.from({ length: count }, (_, n) => {
      const whole = time(n);
      const expected = expectedTime(times);
      let elapsed = firstDelay(expected, limits);
      let polls = 1;
      for (let before: Reading | null = null; elapsed < whole; polls++) {
        const last = { elapsed, percentage: tell(elapsed / whole) };
        elapsed += pollDelay({ last, before, expected }, limits);
        before = last;
      }
      times = rememberTime(times, elapsed);
      return { polls, late: (elapsed - whole) / whole };
    });
  }
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const honest = (share: number) => 100 * share;
  const tellers = {
    honest,
    'in whole percents': (share: number) => Math.floor(100 * share),
    'in steps of ten percent': (share: number) => 10 * Math.floor(10 * share),
    'stuck at 0 %': () => 0,
    'without a percentage': () => null,
  };
  // The least wait of a second is 3 % of half a minute.
  const processing = fc.integer({ min: 30_000, max: 4 * 60 * minute });
  const anyTeller = fc.constantFrom(...Object.keys(tellers)) as fc.Arbitrary<keyof typeof tellers>;

  it('no finish is noticed much too late, nor with many polls, where the times are steady', () => {
    fc.assert(
      fc.property(processing, anyTeller, (whole, teller) => {
        const followed = follow(60, () => whole, tellers[teller]).slice(1);
        expect(mean(followed.map(({ late }) => late))).toBeLessThan(0.05);
        expect(mean(followed.map(({ polls }) => polls))).toBeLessThan(15);
      }),
    );
  });

  it('nor where they differ by half, with honest percentages', () => {
    const differing = fc.array(fc.double({ min: 0.5, max: 1.5, noNaN: true }), {
      minLength: 60,
      maxLength: 60,
    });
    fc.assert(
      fc.property(processing, differing, (whole, factors) => {
        const followed = follow(60, (n) => whole * factors[n]!, honest).slice(1);
        expect(mean(followed.map(({ late }) => late))).toBeLessThan(0.05);
        expect(mean(followed.map(({ polls }) => polls))).toBeLessThan(15);
      }),
    );
  });

  it('without a percentage the first of all is noticed in time, too', () => {
    fc.assert(
      fc.property(processing, (whole) => {
        expect(
          follow(
            1,
            () => whole,
            () => null,
          )[0]!.late,
        ).toBeLessThan(0.05);
      }),
    );
  });
});
