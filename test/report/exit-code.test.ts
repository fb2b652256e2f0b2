import { describe, expect, it } from 'vitest';
import {
  exceededReasons,
  judgedCounts,
  mustWithhold,
  releaseReason,
  runExitCode,
} from '../../src/report/exit-code.js';
import type { Counts } from '../../src/types.js';

const none = { records: 0, successful: 0, failed: 0, unprocessed: 0 };
const judged = (counts: Counts, skipped: number) => {
  const origins = {
    sent: none,
    reused: none,
    duplicates: none,
    skipped: { ...none, records: skipped, failed: skipped },
  };
  return judgedCounts({ counts, origins });
};
const code = (successful: number, failed: number, unprocessed: number, tolerate: number, skipped = 0) =>
  runExitCode(judged({ read: 0, rejected: 0, successful, failed, unprocessed }, skipped), tolerate);

describe('the exit code of a publication', () => {
  it('is 0 up to the tolerated share of what was sent, and 3 beyond', () => {
    expect(code(95, 5, 0, 0.05)).toBe(0);
    expect(code(94, 6, 0, 0.05)).toBe(3);
    expect(code(0, 10, 0, 1)).toBe(0);
    expect(code(10, 0, 0, 0)).toBe(0);
    expect(code(999_999, 1, 0, 0)).toBe(3);
  });

  it('takes every whole percentage for exactly that', () => {
    for (let percent = 1; percent < 100; percent++) {
      expect([percent, code(100 - percent, percent, 0, percent / 100)]).toEqual([percent, 0]);
      expect([percent, code(99 - percent, percent + 1, 0, percent / 100)]).toEqual([percent, 3]);
    }
  });

  it('is 3 with one record unprocessed, whatever is tolerated', () => {
    expect(code(99, 0, 1, 1)).toBe(3);
  });

  it('does not count records that were skipped', () => {
    expect(code(95, 105, 0, 0.05, 100)).toBe(0);
    expect(code(94, 106, 0, 0.05, 100)).toBe(3);
    expect(code(0, 100, 1, 1, 100)).toBe(3);
  });

  it('is 0 where nothing was sent', () => {
    expect(code(0, 0, 0, 0)).toBe(0);
    expect(code(0, 100, 0, 0, 100)).toBe(0);
  });
});

describe('an output that is withheld', () => {
  const counts = { read: 101, rejected: 1, successful: 93, failed: 7, unprocessed: 0 };
  const withhold = 'withhold' as const;

  it('is one that would end with exit 3, where the config says so', () => {
    expect(mustWithhold(counts, { tolerate: 0.05, onExceeded: withhold })).toBe(true);
    expect(mustWithhold(counts, { tolerate: 0.07, onExceeded: withhold })).toBe(false);
    expect(mustWithhold(counts, { tolerate: 0.05, onExceeded: 'publish' })).toBe(false);
    const lost = { ...counts, successful: 92, unprocessed: 1 };
    expect(mustWithhold(lost, { tolerate: 1, onExceeded: withhold })).toBe(true);
  });

  it('is released by the one setting or the other', () => {
    expect(releaseReason(counts, { tolerate: 0.05, onExceeded: withhold })).toBeNull();
    expect(releaseReason(counts, { tolerate: 0.075, onExceeded: withhold })).toBe(
      'failures.tolerate is 7.5%',
    );
    expect(releaseReason(counts, { tolerate: 0.05, onExceeded: 'publish' })).toBe(
      'failures.onExceeded is publish',
    );
  });

  it('has a reason for each limit that it exceeds', () => {
    expect(exceededReasons(counts, 0.07)).toEqual([]);
    expect(exceededReasons({ ...counts, successful: 92, unprocessed: 1 }, 0.05)).toEqual([
      '7 of 100 records failed (7%), and failures.tolerate is 5%',
      '1 record is unprocessed',
    ]);
  });
});
