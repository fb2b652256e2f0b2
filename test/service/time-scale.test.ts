/** The service's time and real time. */
import { describe, expect, it } from 'vitest';
import { TimeScale } from '../../src/service/time-scale.js';

const time = new TimeScale(60, 1000);

describe('TimeScale', () => {
  it('runs faster than real time', () => {
    expect(time.elapsed(1000)).toBe(0);
    expect(time.elapsed(61_000)).toBe(3_600_000);
    expect(time.toRealTime(3_600_000)).toBe(60_000);
    expect(time.ratePerSecond(100)).toBe(6000);
    expect(time.ratePerSecond(0)).toBe(0);
  });

  it.each([
    [0, 1],
    [1000, 1],
    [60_000, 1],
    [60_001, 2],
    [600_000, 10],
  ])('gives a wait of %i ms as %i whole seconds', (span, seconds) => {
    expect(time.retryAfter(span)).toBe(seconds);
  });
});
