/** The pace over time, with the clock given by the test. */
import { describe, expect, it } from 'vitest';
import { Pace } from '../../../src/service/processing/open-processor.js';

describe('Pace', () => {
  it('gives as many records as time has passed', () => {
    const pace = new Pace(1000, 0);
    expect(pace.available(0)).toBe(0);
    expect(pace.available(50)).toBe(50);
    pace.spend(50);
    expect(pace.available(50)).toBe(0);
    expect(pace.available(60)).toBe(10);
  });

  it('keeps to its rate over a long time', () => {
    const pace = new Pace(333, 0);
    let records = 0;
    for (let now = 0; now <= 60_000; now += 17) {
      const taken = pace.available(now);
      pace.spend(taken);
      records += taken;
    }
    expect(records).toBeGreaterThanOrEqual(333 * 60 - 10);
    expect(records).toBeLessThanOrEqual(333 * 60);
  });

  it('does not save up what an idle service did not use', () => {
    expect(new Pace(1000, 0).available(60_000)).toBe(200);
  });

  it('lets even the slowest service process a record, and says how long that takes', () => {
    const pace = new Pace(1, 0);
    expect(pace.available(250)).toBe(0);
    expect(pace.waitMs()).toBe(750);
    expect(pace.available(1000)).toBe(1);
  });

  it('sets no limit at 0', () => {
    const pace = new Pace(0, 0);
    pace.spend(1_000_000);
    expect(pace.available(0)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
