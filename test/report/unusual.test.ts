import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Night, Predictions } from '../../src/checkpoint/checkpoint.js';
import { findUnusual, MAX_NIGHTS, MIN_NIGHTS, MIN_RECORDS, nightsBefore } from '../../src/report/unusual.js';
import { sampleNight } from '../helpers/checkpoint/samples.js';

const MINUTE = 60_000;

function predictions(share: number, mean: number, code = '722511'): Predictions {
  const coded = 10_000;
  const top = Math.round(share * coded);
  return {
    ...{ code: 'naics', confidence: 'conf', coded, rest: { codes: 7, records: coded - top } },
    codes: [{ code, records: top, confidence: mean }],
    confidences: {
      ...{ records: coded, unreadable: 0, mean, min: 0, max: 1, scale: 1, outside: 0 },
      bins: new Array<number>(20).fill(coded / 20),
    },
  };
}

function night(publication: number, changes: Partial<Night> = {}, failed = 300): Night {
  const counts = { read: 10_000, successful: 10_000 - failed, failed, unprocessed: 0, rejected: 0 };
  const none = { records: 0, successful: 0, failed: 0, unprocessed: 0 };
  const origins = {
    sent: { ...counts, records: 10_000 },
    ...{ reused: none, duplicates: none, skipped: none },
  };
  return {
    ...sampleNight,
    ...{ run: `r${publication}`, publication, began: 0, ended: 60 * MINUTE, counts, origins, paid: 10_000 },
    drift: { compared: 1000, changed: 20 },
    predictions: predictions(0.2, 0.8),
    ...changes,
  };
}

const usual = Array.from({ length: 6 }, (_, at) => night(6 - at));
const figures = (tonight: Night, before = usual) => findUnusual(tonight, before).map(({ figure }) => figure);

describe('the nights before', () => {
  it('are whole outputs of other runs that came before, with enough records, each run once', () => {
    const small = night(8, { counts: { ...sampleNight.counts, read: MIN_RECORDS - 1 } });
    const all = [
      night(10, { run: 'later' }),
      night(9),
      small,
      night(7, { rehearsal: true }),
      night(6, { run: 'r9' }),
      night(5, { run: 'twice' }),
      night(4, { run: 'twice' }),
      ...Array.from({ length: 50 }, (_, at) => night(-at - 1)),
    ];
    const before = nightsBefore(night(9), all);
    expect(before.map(({ publication }) => publication).slice(0, 3)).toEqual([5, -1, -2]);
    expect(before).toHaveLength(MAX_NIGHTS);
  });
});

describe('what is unlike the nights before', () => {
  it.each<[string, Night]>([
    ['failureRate', night(9, {}, 900)],
    ['topCodeShare', night(9, { predictions: predictions(0.5, 0.8) })],
    ['topCodeShare', night(9, { predictions: predictions(0.05, 0.8) })],
    ['meanConfidence', night(9, { predictions: predictions(0.2, 0.6) })],
    ['columns', night(9, { columns: ['code', 'more'] })],
    ['duration', night(9, { ended: 120 * MINUTE })],
    ['duration', night(9, { ended: 5 * MINUTE })],
    ['spend', night(9, { paid: 20_000 })],
    ['drift', night(9, { drift: { compared: 1000, changed: 200 } })],
  ])('is found: %s', (figure, tonight) => {
    const found = findUnusual(tonight, usual);
    expect(found.map((one) => one.figure)).toEqual([figure]);
    expect(found[0]!.text).not.toMatch(/NaN|undefined|null/);
  });

  it('says in words what it is', () => {
    expect(findUnusual(night(9, {}, 900), usual)).toEqual([
      {
        ...{ figure: 'failureRate', now: 0.09, usual: 0.03, nights: 6 },
        text: '9% of the records failed, and 3% usually do',
      },
    ]);
    const other = night(9, { predictions: predictions(0.4, 0.8, 'x\u202ey') });
    expect(findUnusual(other, usual).map(({ text }) => text)).toEqual([
      '40% of the predictions are x\\u{202e}y, and 0% usually are',
      '0% of the predictions are 722511, and 20% usually are',
    ]);
  });

  it('is nothing for a usual night, for few nights and for few records', () => {
    expect(figures(night(9))).toEqual([]);
    expect(figures(night(9, {}, 9000), usual.slice(0, MIN_NIGHTS - 1))).toEqual([]);
    const small = night(9, {}, 900);
    expect(figures({ ...small, counts: { ...small.counts, read: MIN_RECORDS - 1 } })).toEqual([]);
  });

  it('is no answer that was not counted, and no drift of few answers', () => {
    expect(figures(night(9, { predictions: null }))).toEqual([]);
    expect(figures(night(9, { drift: null }))).toEqual([]);
    expect(figures(night(9, { drift: { compared: 99, changed: 99 } }))).toEqual([]);
    const renamed = { ...predictions(0.9, 0.8), code: 'sic' };
    expect(figures(night(9, { predictions: renamed }))).toEqual([]);
  });
});

const share = fc.double({ min: 0, max: 1, noNaN: true });
const anyNight = fc
  .record({
    failed: fc.integer({ min: 0, max: 10_000 }),
    ended: fc.integer({ min: 0, max: 100 * 60 * MINUTE }),
    paid: fc.integer({ min: 0, max: 1e7 }),
    share,
    mean: share,
    changed: fc.integer({ min: 0, max: 1000 }),
  })
  .map(({ failed, ended, paid, share: top, mean, changed }) =>
    night(
      0,
      { ended, paid, predictions: predictions(top, mean), drift: { compared: 1000, changed } },
      failed,
    ),
  );
const before = fc.array(anyNight, { minLength: MIN_NIGHTS, maxLength: 12 });

it('a night that repeats all nights before is never unusual', () => {
  fc.assert(
    fc.property(anyNight, fc.integer({ min: MIN_NIGHTS, max: 9 }), (one, count) => {
      expect(figures(one, new Array<Night>(count).fill(one))).toEqual([]);
    }),
  );
});

it('the order of the nights before makes no difference', () => {
  fc.assert(
    fc.property(anyNight, before, (tonight, nights) => {
      expect(findUnusual(tonight, [...nights].reverse())).toEqual(findUnusual(tonight, nights));
    }),
  );
});

it('a larger failure rate above the usual one is no less unusual', () => {
  fc.assert(
    fc.property(
      before,
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 0, max: 10_000 }),
      (nights, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const of = (failed: number) =>
          findUnusual(night(9, {}, failed), nights).find((one) => one.figure === 'failureRate');
        const found = of(low);
        if (found !== undefined && found.now! > found.usual!) expect(of(high)).toBeDefined();
      },
    ),
  );
});
