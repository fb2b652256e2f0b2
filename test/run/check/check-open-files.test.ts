/** How many open files a run needs, and what is said when the limit is lower. */
import { platform } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { checkOpenFiles, countOpenFiles } from '../../../src/run/check/check-open-files.js';
import { minimal, minimalWith } from '../../helpers/config/minimal-config.js';

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
    expect(check(60)).not.toThrow();
  });

  it('counts the other end of each connection, too, where the service is embedded', () => {
    const embedded = parseConfig(minimalWith({ service: { embedded: true } }), '/');
    // Beside the 60 above: 18 connections, 4 files that arrive, and 4 of the service.
    expect(() => checkOpenFiles(embedded, { open: 20, limit: 60 })).toThrow(/needs up to 86;/);
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
