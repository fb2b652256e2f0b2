import { describe, expect, it } from 'vitest';
import { parseDeadline, parseMaxDuration } from '../../src/cli/time-options.js';

const at = (time: string) => new Date(`2026-11-21T${time}`);

describe('a time of day', () => {
  it('is the next one', () => {
    expect(parseDeadline('23:30', at('22:00:00'))).toBe(at('23:30:00').getTime());
  });

  it('is in the morning for a run that begins in the evening', () => {
    expect(parseDeadline('06:00', at('22:00:00'))).toBe(new Date('2026-11-22T06:00:00').getTime());
  });

  it('is refused when it has just passed: it would mean tomorrow', () => {
    expect(() => parseDeadline('06:00', at('06:00:01'))).toThrow(
      /has passed today, and would mean 2026-11-22/,
    );
  });
});

describe('an instant', () => {
  it('is read with its zone', () => {
    expect(parseDeadline('2026-11-22T06:00:00+01:00', at('22:00:00'))).toBe(Date.UTC(2026, 10, 22, 5));
  });

  it.each(['2026-11-22T06:00:00', '2026-11-22', 'six', '25:00', '6', '2027-02-29T06:00:00Z'])(
    '%s is refused',
    (text) => {
      expect(() => parseDeadline(text, at('01:00:00'))).toThrow(/expected an instant with its zone/);
    },
  );

  it('that has passed is refused', () => {
    expect(() => parseDeadline('2020-01-01T00:00:00Z', at('01:00:00'))).toThrow(/has passed/);
  });
});

describe('a longest duration', () => {
  it('counts from now', () => {
    expect(parseMaxDuration('90m', at('01:00:00'))).toBe(at('02:30:00').getTime());
  });

  it.each(['90', '-1h', 'long', '', '999999999999d'])('%j is refused', (text) => {
    expect(() => parseMaxDuration(text, at('01:00:00'))).toThrow(/expected a duration/);
  });
});
