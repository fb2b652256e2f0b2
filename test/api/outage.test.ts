import { describe, expect, test } from 'vitest';
import { Outage } from '../../src/api/outage.js';

describe('an outage', () => {
  function createOutage() {
    const log: string[] = [];
    const write = (_fields: object, message: string) => void log.push(message);
    return { outage: new Outage('track', { debug: write, info: write, warn: write }, 7_200_000), log };
  }

  test('is logged at its beginning, once a minute and at its end', () => {
    const { outage, log } = createOutage();
    for (let second = 0; second < 150; second += 1) {
      expect(outage.recordFailure(second * 1000, {}, 'HTTP 502')).toBe(0);
    }
    outage.recordSuccess(150_000);
    expect(log).toEqual([
      'track fails and is tried again: HTTP 502',
      'track fails and is tried again (for 60 s): HTTP 502',
      'track fails and is tried again (for 120 s): HTTP 502',
      'track works again after 150 s',
    ]);
  });

  test('a service that fails now and then does not fill the log', () => {
    const { outage, log } = createOutage();
    for (let second = 0; second < 59; second += 1) {
      outage.recordFailure(second * 1000, {}, 'HTTP 502');
      outage.recordSuccess(second * 1000 + 500);
    }
    expect(log).toHaveLength(2);
  });

  test('an outage that begins soon after the end of another one is logged once it lasts', () => {
    const { outage, log } = createOutage();
    outage.recordFailure(0, {}, 'HTTP 502');
    outage.recordSuccess(500);
    for (let second = 1; second < 12; second += 1) outage.recordFailure(second * 1000, {}, 'HTTP 503');
    outage.recordSuccess(12_000);
    expect(log).toEqual([
      'track fails and is tried again: HTTP 502',
      'track works again after 1 s',
      'track fails and is tried again (for 5 s): HTTP 503',
      'track works again after 11 s',
    ]);
  });

  test('a failure long after the last one is another outage', () => {
    const { outage } = createOutage();
    expect(outage.recordFailure(1000, {}, '')).toBe(1000);
    expect(outage.recordFailure(8_000_000, {}, '')).toBe(8_000_000);
  });
});
