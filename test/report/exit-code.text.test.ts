import { describe, expect, it } from 'vitest';
import { failureText, isTolerated, raiseToleranceHint } from '../../src/report/exit-code.js';

describe('the tolerance that is named as enough', () => {
  it.each([
    [1, 3, '33.4%'],
    [1, 1000, '0.1%'],
    [1, 100_000, '0.1%'],
    [7, 100, '7%'],
    [14, 100, '14%'],
    [29, 100, '29%'],
    [30, 30, '100%'],
  ])('for %i of %i is %s, and really is', (failed, records, enough) => {
    expect(raiseToleranceHint('R', failed, records, 'foliopipe run --new --yes')).toMatch(
      new RegExp(`foliopipe run --set failures\\.tolerate=${enough} goes on .* foliopipe run --new --yes$`),
    );
    expect(isTolerated(failed, records, Number.parseFloat(enough) / 100)).toBe(true);
  });

  it('stands beside the one that is set', () => {
    expect(failureText(14, 100, 0.07)).toBe('14 of 100 records failed (14%), and failures.tolerate is 7%');
  });
});
