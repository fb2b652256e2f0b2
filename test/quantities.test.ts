import { describe, expect, it } from 'vitest';
import { countOf, formatBytes, formatCount, formatDuration, formatShare } from '../src/quantities.js';

describe('format', () => {
  it('groups numbers', () => {
    expect([0, 999, 1234567].map(formatCount)).toEqual(['0', '999', '1,234,567']);
  });
  it('names sizes by their unit', () => {
    expect([0, 1023, 1024, 8 * 1024 ** 2].map(formatBytes)).toEqual(['0 B', '1023 B', '1 KB', '8 MB']);
  });
  it('rounds durations to one unit', () => {
    expect([-5, 0.4, 499, 45_400, 7_200_000].map(formatDuration)).toEqual(['0s', '0s', '499ms', '45s', '2h']);
  });
  it('gives a share of nothing as 0%', () => {
    expect([formatShare(0, 0), formatShare(1, 3), formatShare(5, 5)]).toEqual(['0%', '33.3%', '100%']);
  });
  it('counts one and many', () => {
    expect([countOf(1, 'chunk'), countOf(0, 'chunk'), countOf(1200, 'chunk')]).toEqual([
      '1 chunk',
      '0 chunks',
      '1,200 chunks',
    ]);
  });
});
