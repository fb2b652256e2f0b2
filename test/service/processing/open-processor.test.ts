import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openService } from '../../../src/service/open-service.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  acceptedFolio,
  serviceOptions,
  track,
  trackFinished,
  withService,
} from '../../helpers/service/client.js';
import { uploadCsv } from '../../helpers/service/expected-results.js';

describe('openProcessor', () => {
  const newFolder = useFolder();

  it('logs a lost upload once, frees its slot, and finishes the other folios', async () => {
    const dataDir = await newFolder();
    const slow = await openService(serviceOptions(dataDir, { recordsPerSecond: 1 }));
    const lost = await acceptedFolio(slow.baseUrl, uploadCsv(100));
    const whole = await acceptedFolio(slow.baseUrl, uploadCsv(100));
    await slow.close();
    await rm(path.join(dataDir, 'uploads', `${lost}.csv`));
    const errors: [object, string][] = [];
    const logger = {
      info: () => {},
      warn: () => {},
      error: (...entry: [object, string]) => errors.push(entry),
    };
    const service = await openService(serviceOptions(dataDir, { logger, maxOpen: 1 }));
    await trackFinished(service.baseUrl, whole);
    await trackFinished(service.baseUrl, await acceptedFolio(service.baseUrl, uploadCsv(100)));
    expect((await track(service.baseUrl, lost)).body.response.progressInfo.status).toBe('PROCESSING');
    expect(errors).toMatchObject([
      [
        { folio: lost, err: { cause: { code: 'ENOENT' } } },
        `folio ${lost} stays PROCESSING: the upload does not exist`,
      ],
    ]);
    await service.close();
  });

  it('processes all open folios in turn', async () => {
    await withService({ recordsPerSecond: 2000 }, async ({ baseUrl: url }) => {
      const first = await acceptedFolio(url, uploadCsv(4000));
      const second = await acceptedFolio(url, uploadCsv(100));
      await trackFinished(url, second);
      const { progressInfo } = (await track(url, first)).body.response;
      expect(progressInfo.status).toBe('PROCESSING');
      expect(progressInfo.processedRecords).toBeGreaterThan(0);
    });
  });
});
