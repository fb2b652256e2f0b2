/** SIGKILL and a full disk need a process of their own: test/integration/resume/crash-points.test.ts, test/prove/crash.js. */
import { describe, expect, it } from 'vitest';
import { armFailpoint } from '../../src/cli/arm-failpoint.js';

describe('armFailpoint', () => {
  it('is off unless it is armed', () => {
    expect(armFailpoint(undefined)).toBeUndefined();
    expect(armFailpoint('')).toBeUndefined();
  });

  it.each(['after-cut-before-intent:3', 'after-cut-before-intent:3:kill', 'after-cut-before-intent:3:term'])(
    '%s ignores other failpoints and earlier passings',
    (armed) => {
      const at = armFailpoint(armed)!;
      at('after-run-before-chunk');
      at('after-cut-before-intent');
      at('after-cut-before-intent');
    },
  );

  it.each([
    ['term', 'SIGTERM'],
    ['hup', 'SIGHUP'],
  ])('%s asks the process to stop', async (how, signal) => {
    const asked = new Promise((resolve) => process.once(signal, resolve));
    armFailpoint(`after-cut-before-intent:${how}`)!('after-cut-before-intent');
    expect(await asked).toBe(signal);
  });

  it.each([
    'nowhere',
    'nowhere:2',
    'after-cut-before-intent:0',
    'after-cut-before-intent:x',
    'after-cut-before-intent:',
    'after-cut-before-intent:1:stop',
    'after-cut-before-intent:full',
    'after-cut-before-intent:kill:1',
    'after-cut-before-intent:1:2:kill',
    'after-cut-before-intent:toString',
  ])('refuses %s', (armed) => {
    expect(() => armFailpoint(armed)).toThrow(expect.objectContaining({ code: 'USAGE', exitCode: 2 }));
  });
});
