/** How many open files a run needs, and what is said when the limit is lower. */
import { platform } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { checkOpenFiles, countOpenFiles } from '../../../src/run/check/check-open-files.js';
import { minimal } from '../../helpers/config/minimal-config.js';

describe('checkOpenFiles', () => {
  const config = parseConfig(minimal(), '/');
  const check = (limit: number) => () => checkOpenFiles(config, { open: 20, limit });

  it('lets the usual limits pass, and 64 with the default config', () => {
    expect(check(64)).not.toThrow();
    expect(check(1024)).not.toThrow();
    expect(check(Number.POSITIVE_INFINITY)).not.toThrow();
    expect(() => checkOpenFiles(config, undefined)).not.toThrow();
  });

  it('names the limit and the need', () => {
    expect(check(40)).toThrow(
      expect.objectContaining({
        code: 'OPEN_FILES_LIMIT',
        exitCode: 2,
        facts: { limit: 40, needed: 60, open: 20 },
      }),
    );
  });

  it('needs more for more work at once', () => {
    const busy = { ...config, concurrency: { uploads: 200, folios: 400, downloads: 200 } };
    expect(() => checkOpenFiles(busy, { open: 20, limit: 600 })).toThrow(/needs up to 844/);
  });

  it.skipIf(platform() !== 'linux')('reads what the system tells of this process', () => {
    const { open, limit } = countOpenFiles()!;
    expect(open).toBeGreaterThan(3);
    expect(limit).toBeGreaterThan(open);
  });
});
