import { describe, expect, it } from 'vitest';
import {
  countOf,
  formatAmount,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  formatSpan,
  parseDuration,
} from '../src/quantities.js';

it('reads no duration that leads beyond all dates', () => {
  expect(parseDuration('100000y')).toBe(3_155_760_000_000_000);
  for (const text of ['100000000d', '1e9d', `${'9'.repeat(90)}d`])
    expect(parseDuration(text), text).toBeUndefined();
});

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
  it('shows an amount to the cent, and less than a cent as more than nothing', () => {
    expect([0, 0.004, 0.005, 0.24, 8.3].map(formatAmount)).toEqual(['0.00', '<0.01', '0.01', '0.24', '8.30']);
  });
  it('gives a share of nothing as 0%', () => {
    expect([formatShare(0, 0), formatShare(1, 3), formatShare(5, 5)]).toEqual(['0%', '33.3%', '100%']);
  });
  it('shows a small share not as nothing, and a large one not as all', () => {
    const shown = [1, 5, 9_994, 9_995, 9_999].map((part) => formatShare(part, 10_000));
    expect(shown).toEqual(['<0.1%', '0.1%', '99.9%', '>99.9%', '>99.9%']);
  });
  it('writes spans in two units', () => {
    const spans = [-5, 0, 80, 999.6, 2340, 9_960, 59_400, 59_600, 125_000, 3_599_600, 3_840_000, 90_000_000];
    expect(spans.map(formatSpan)).toEqual([
      '0 ms',
      '0 ms',
      '80 ms',
      '1 s',
      '2.3 s',
      '10 s',
      '59 s',
      '1 min 00 s',
      '2 min 05 s',
      '1 h 00 min',
      '1 h 04 min',
      '25 h 00 min',
    ]);
  });
  it('counts one and many', () => {
    expect([countOf(1, 'chunk'), countOf(0, 'chunk'), countOf(1200, 'chunk')]).toEqual([
      '1 chunk',
      '0 chunks',
      '1,200 chunks',
    ]);
  });
});
