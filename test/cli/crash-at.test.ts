/** The deadly case is in test/integration/crash-points.test.ts: it ends the process. */
import { describe, expect, it } from 'vitest';
import { crashAt } from '../../src/cli/crash-at.js';

describe('crashAt', () => {
  it('is off unless it is armed', () => {
    expect(crashAt(undefined)).toBeUndefined();
    expect(crashAt('')).toBeUndefined();
  });
  it('lets other points and earlier passings go', () => {
    const at = crashAt('after-cut-before-intent:3')!;
    at('after-run-before-chunk');
    at('after-cut-before-intent');
    at('after-cut-before-intent');
  });
  it.each(['nowhere', 'nowhere:2', 'after-cut-before-intent:0', 'after-cut-before-intent:x'])(
    'refuses %s',
    (armed) => {
      expect(() => crashAt(armed)).toThrow(expect.objectContaining({ code: 'USAGE', exitCode: 2 }));
    },
  );
});
