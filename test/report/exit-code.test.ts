import { describe, expect, it } from 'vitest';
import { runExitCode } from '../../src/report/exit-code.js';

const code = (successful: number, failed: number, unprocessed: number, tolerate: number) =>
  runExitCode({ read: 0, rejected: 0, successful, failed, unprocessed }, tolerate);

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

  it('is 0 where nothing was sent', () => {
    expect(code(0, 0, 0, 0)).toBe(0);
  });
});
