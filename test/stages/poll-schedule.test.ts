import { describe, expect, it } from 'vitest';
import { type PollProgress, pollDelay } from '../../src/stages/poll-schedule.js';

const limits = { first: 1_000, max: 60_000 };
const delay = (changes: Partial<PollProgress>) =>
  pollDelay({ elapsed: 10_000, polls: 1, percentage: null, expected: null, ...changes }, limits);

describe('the wait before the next poll', () => {
  it('doubles from the first one where nothing is known, up to the longest', () => {
    const delays = [1, 2, 3, 6, 7, 1_000].map((polls) => delay({ polls }));
    expect(delays).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });

  it('is half of what the percentage leaves', () => {
    expect(delay({ elapsed: 10_000, percentage: 50 })).toBe(5_000);
    expect(delay({ elapsed: 30_000, percentage: 75, expected: 999_999 })).toBe(5_000);
  });

  it('is half of what the folios before it took, while that is not over', () => {
    expect(delay({ elapsed: 10_000, expected: 30_000 })).toBe(10_000);
    expect(delay({ elapsed: 10_000, expected: 30_000, percentage: 0 })).toBe(10_000);
    expect(delay({ elapsed: 30_000, expected: 30_000, polls: 2 })).toBe(2_000);
  });

  it('never leaves its limits', () => {
    expect(delay({ elapsed: 1, percentage: 99 })).toBe(1_000);
    expect(delay({ elapsed: 1e9, percentage: 1 })).toBe(60_000);
    expect(delay({ elapsed: -5_000, percentage: 50 })).toBe(1_000);
  });

  it('does not trust a percentage of 100 that is not finished', () => {
    expect(delay({ percentage: 100, expected: 900_000, polls: 3 })).toBe(4_000);
  });
});
