/** The deadly cases are in test/integration/crash-points.test.ts, the full disk in test/prove/crash.js. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { crashAt } from '../../src/cli/failpoint.js';
import { useFolder } from '../helpers/folder.js';

const folder = useFolder();

describe('crashAt', () => {
  it('is off unless it is armed', () => {
    expect(crashAt(undefined)).toBeUndefined();
    expect(crashAt('')).toBeUndefined();
  });

  it.each(['after-cut-before-intent:3', 'after-cut-before-intent:3:kill', 'after-cut-before-intent:3:term'])(
    '%s lets other points and earlier passings go',
    (armed) => {
      const at = crashAt(armed)!;
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
    crashAt(`after-cut-before-intent:${how}`)!('after-cut-before-intent');
    expect(await asked).toBe(signal);
  });

  it('fills nothing before its time, and says what keeps it from filling', async () => {
    const filler = join(await folder(), 'no-such-folder', 'filler');
    const at = crashAt('after-cut-before-intent:2:full', filler)!;
    at('after-cut-before-intent');
    expect(existsSync(filler)).toBe(false);
    expect(() => at('after-cut-before-intent')).toThrow('ENOENT');
  });

  it.each([
    'nowhere',
    'nowhere:2',
    'after-cut-before-intent:0',
    'after-cut-before-intent:x',
    'after-cut-before-intent:',
    'after-cut-before-intent:1:stop',
    'after-cut-before-intent:kill:1',
    'after-cut-before-intent:1:2:kill',
    'after-cut-before-intent:toString',
  ])('refuses %s', (armed) => {
    expect(() => crashAt(armed)).toThrow(expect.objectContaining({ code: 'USAGE', exitCode: 2 }));
  });

  it('refuses to fill a disk that nobody has named', () => {
    const refused = { code: 'USAGE', message: expect.stringContaining('FOLIOPIPE_FILL') };
    expect(() => crashAt('after-cut-before-intent:full', '')).toThrow(expect.objectContaining(refused));
  });
});
