/** The rate over time, with a clock that the test controls. */
import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../../src/service/processing/open-processor.js';

describe('TokenBucket', () => {
  it('allows as many records as the time passed allows', () => {
    const limiter = new TokenBucket(1000, 0);
    expect(limiter.available(0)).toBe(0);
    expect(limiter.available(50)).toBe(50);
    limiter.spend(50);
    expect(limiter.available(50)).toBe(0);
    expect(limiter.available(60)).toBe(10);
  });

  it('keeps to its rate over a long time', () => {
    const limiter = new TokenBucket(333, 0);
    let records = 0;
    for (let now = 0; now <= 60_000; now += 17) {
      const taken = limiter.available(now);
      limiter.spend(taken);
      records += taken;
    }
    expect(records).toBeGreaterThanOrEqual(333 * 60 - 10);
    expect(records).toBeLessThanOrEqual(333 * 60);
  });

  it('saves up only a short burst while idle', () => {
    expect(new TokenBucket(1000, 0).available(60_000)).toBe(200);
  });

  it('allows a record even at the slowest rate, and says how long to wait', () => {
    const limiter = new TokenBucket(1, 0);
    expect(limiter.available(250)).toBe(0);
    expect(limiter.waitMs()).toBe(750);
    expect(limiter.available(1000)).toBe(1);
  });

  it('sets no limit at 0', () => {
    const limiter = new TokenBucket(0, 0);
    limiter.spend(1_000_000);
    expect(limiter.available(0)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
