/** Clients that break off, files that are lost, many folios at once: the service goes on. */
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openService } from '../../src/service/open-service.js';
import {
  acceptedFolio,
  makeDataDir,
  partText,
  removeDataDir,
  serviceOptions,
  TOKEN,
  track,
  trackFinished,
  trackUntil,
  upload,
  withService,
} from '../helpers/service-client.js';
import { expectedResults, SUCCESSFUL_HEADER, uploadCsv } from '../helpers/service-results.js';

describe('a service in trouble', () => {
  it('drops an upload that breaks off, and gives its place back', async () => {
    await withService({ maxOpen: 1 }, async ({ url }, dataDir) => {
      const uploads = path.join(dataDir, 'uploads');
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.write(
        `POST /naics/naics/external/upload?token=${TOKEN} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n` +
          'content-type: multipart/form-data; boundary=b\r\n\r\n' +
          '--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nname\nAcme\n',
      );
      await expect.poll(() => readdir(uploads)).toHaveLength(1);
      expect((await upload(url, uploadCsv(1))).status).toBe(429);
      socket.destroy();
      await once(socket, 'close');
      await expect.poll(() => readdir(uploads)).toEqual([]);
      await expect.poll(async () => (await upload(url, uploadCsv(1))).status).toBe(200);
    });
  });

  it('logs a lost upload once, gives its place away, and finishes the other folios', async () => {
    const dataDir = await makeDataDir();
    const slow = await openService(serviceOptions(dataDir, { recordsPerSecond: 1 }));
    const lost = await acceptedFolio(slow.url, uploadCsv(100));
    const whole = await acceptedFolio(slow.url, uploadCsv(100));
    await slow.close();
    await rm(path.join(dataDir, 'uploads', `${lost}.csv`));
    const errors: object[] = [];
    const logger = { info: () => {}, warn: () => {}, error: (fields: object) => errors.push(fields) };
    const service = await openService(serviceOptions(dataDir, { logger, maxOpen: 1 }));
    await trackFinished(service.url, whole);
    await trackFinished(service.url, await acceptedFolio(service.url, uploadCsv(100)));
    expect((await track(service.url, lost)).body.response.progressInfo.status).toBe('PROCESSING');
    expect(errors).toMatchObject([{ folio: lost, err: { cause: { code: 'ENOENT' } } }]);
    await service.close();
    await removeDataDir(dataDir);
  });

  it('works on all open folios in turn', async () => {
    await withService({ recordsPerSecond: 2000 }, async ({ url }) => {
      const first = await acceptedFolio(url, uploadCsv(4000));
      const second = await acceptedFolio(url, uploadCsv(100));
      await trackFinished(url, second);
      const { progressInfo } = (await track(url, first)).body.response;
      expect(progressInfo.status).toBe('PROCESSING');
      expect(progressInfo.processedRecords).toBeGreaterThan(0);
    });
  });

  it('takes many uploads at once, and mixes nothing up', async () => {
    await withService({ segmentRecords: 1000 }, async ({ url }) => {
      const sizes = [1, 999, 1500, 2500];
      const folios = await Promise.all(sizes.map((size) => acceptedFolio(url, uploadCsv(size))));
      for (const [at, folio] of folios.entries()) {
        await trackUntil(url, folio, ({ progressInfo }) => progressInfo.status === 'FINISHED');
        const { successful } = expectedResults(sizes[at]!);
        const expected = SUCCESSFUL_HEADER + successful.slice(0, 1000).join('');
        expect((await partText(url, folio, 0)) === expected).toBe(true);
      }
    });
  });

  it('gives a part of many megabytes back whole', async () => {
    await withService({ segmentRecords: 1_000_000 }, async ({ url }) => {
      const folio = await acceptedFolio(url, uploadCsv(100_000));
      await trackFinished(url, folio);
      const expected = SUCCESSFUL_HEADER + expectedResults(100_000).successful.join('');
      expect(expected.length).toBeGreaterThan(8_000_000);
      expect((await partText(url, folio, 0)) === expected).toBe(true);
    });
  });
});
