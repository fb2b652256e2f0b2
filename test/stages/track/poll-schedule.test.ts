import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  expectedTime,
  type FolioTime,
  predictedTime,
  type Reading,
  rememberTime,
} from '../../../src/stages/track/folio-times.js';
import {
  firstDelay,
  type PollProgress,
  pollDelay,
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
  it('is half of what a folio takes', () => {
    expect(firstDelay(4 * minute, 0, limits)).toBe(2 * minute);
    expect(firstDelay(4_000, 1, { ...limits, sweep: 12_000 })).toBe(4_000);
    expect(firstDelay(1_000 * minute, 0, limits)).toBe(60 * minute);
  });

  it('reaches the end of a folio that is over before it may be polled twice', () => {
    expect(firstDelay(1_800, 1, limits)).toBe(1_800);
  });

  it('is that of a scout while nothing is known, and longer for all others', () => {
    const ages = Array.from({ length: 20 }, (_, nth) => firstDelay(null, nth, limits));
    expect(ages.slice(0, 4)).toEqual([0, 250, 500, 750]);
    expect(Math.min(...ages.slice(4))).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...ages.slice(4))).toBeLessThan(2_000);
  });

  it('is never shorter than poll.first where others wait for requests', () => {
    const ages = Array.from({ length: 20 }, (_, nth) => firstDelay(null, nth, { ...limits, isShared: true }));
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(1_000);
  });

  it('is shorter from time to time, because the service may have become quicker', () => {
    const trials = (expected: number) =>
      Array.from({ length: 256 }, (_, nth) => firstDelay(expected, nth, limits)).filter(
        (age) => age !== expected,
      );
    const many = { ...limits, sweep: 60_000 };
    const ages = Array.from({ length: 256 }, (_, nth) => firstDelay(40_000, nth, many));
    expect(ages.filter((age) => age !== 40_000)).toEqual([36_000, 36_000]);
    // Its next poll, a second later, is in time.
    expect(new Set(trials(1_800))).toEqual(new Set([800]));
    expect(trials(1_800).length).toBe(18);
    expect(trials(1_050)).toEqual([]);
  });
});

it('all open folios may be asked with half of the requests', () => {
  expect(sweepTime(64, 10)).toBe(12_800);
});

describe('what a folio takes', () => {
  const expected = (times: readonly FolioTime[], first = 1_000) => expectedTime(times, { first }, 0);
  /** A folio that was polled each `step` ms. */
  const seen = (time: number, step: number, percentage: number | null = null): FolioTime => {
    const by = step * Math.ceil(time / step);
    return { after: by - step, by, percentage };
  };

  it('is not known before the first', () => {
    expect(expected([])).toBeNull();
  });

  it('is the soonest age at which one was found finished that took as long', () => {
    const later = (by: number) => ({ after: 0, by, percentage: null });
    expect(expected([later(9_000), later(6_000), later(7_000)])).toBe(6_000);
    expect(expected([later(9_000), later(6_000), { ...later(7_000), after: 6_500 }])).toBe(6_000);
    expect(expected([later(9_000), { ...later(7_000), after: 6_500 }])).toBe(7_000);
  });

  it('is told by the percentage before the end, and not sooner than it says: a poll before the end costs more', () => {
    expect(expected([{ after: 2_500, by: 6_000, percentage: 50 }])).toBe(5_000);
    const exact = [31, 52.5, 66].map((percentage) => ({ after: 50 * percentage, by: 6_000, percentage }));
    expect(expected(exact)).toBeGreaterThanOrEqual(4_999.999);
    expect(expected([{ after: 2_500, by: 6_000, percentage: 1 }])).toBe(6_000);
  });

  it('is rather too late than too early where a second poll costs much', () => {
    const times = Array.from({ length: 15 }, (_, n) => seen(1_000 + 10 * n, 1));
    expect(expected(times, 1_000)).toBe(1_140);
    expect(expected(times, 10)).toBeLessThan(1_030);
  });

  it('hardly changes with one in ten that takes ten times as long', () => {
    let times: readonly FolioTime[] = [];
    for (let i = 0; i < 40; i++)
      times = rememberTime(times, seen(i % 10 === 3 ? 10 * minute : minute, 1_000));
    expect(expected(times)).toBe(0.97 * minute);
  });

  it('follows the newest folios', () => {
    let times: readonly FolioTime[] = [];
    for (let i = 0; i < 40; i++) times = rememberTime(times, seen(i < 20 ? minute : 10 * minute, 1_000));
    expect(expected(times)).toBe(9.7 * minute);
    expect(times.length).toBe(15);
  });

  it('is told by a folio in work whose percentage moves', () => {
    const before = { elapsed: 10_000, percentage: 10 };
    expect(predictedTime({ elapsed: 60_000, percentage: 60 }, before)).toMatchObject({ by: 100_000 });
    expect(predictedTime({ elapsed: 60_000, percentage: 60 }, null)).toBeNull();
  });
});

describe('folio after folio', () => {
  /** Folios one after the other, of `time(n)` ms each, all of them polled by the rule. */
  function follow(count: number, time: (n: number) => number, tell: (share: number) => number | null) {
    let times: readonly FolioTime[] = [];
    return Array.from({ length: count }, (_, n) => {
      const whole = time(n);
      const expected = expectedTime(times, limits, 100);
      let elapsed = firstDelay(expected, n, limits);
      let polls = 1;
      let before: Reading | null = null;
      let last: Reading | null = null;
      for (; elapsed < whole; polls++) {
        before = last;
        last = { elapsed, percentage: tell(elapsed / whole) };
        elapsed += pollDelay({ last, before, expected }, limits);
      }
      const { elapsed: after = 0, percentage = null } = last ?? {};
      times = rememberTime(times, { after, by: elapsed, percentage });
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
