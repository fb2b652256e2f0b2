/** The four operations of the interface, field by field, over real HTTP. */

import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createServer, type ServerContext } from '../../src/service/create-server.js';
import { TimeScale } from '../../src/service/time-scale.js';
import { useFolder } from '../helpers/folders/folders.js';
import {
  acceptedFolio,
  download,
  partText,
  search,
  send,
  TOKEN,
  track,
  trackFinished,
  trackUntil,
  upload,
  uploadForm,
  withService,
} from '../helpers/service/client.js';
import {
  expectedResults,
  FAILED_HEADER,
  SUCCESSFUL_HEADER,
  uploadCsv,
} from '../helpers/service/expected-results.js';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

const folder = useFolder();

describe('createServer', () => {
  it('logs what an unexpected error is, and none of an upload that is cut off by its end', async () => {
    const logged: string[] = [];
    const error = (_: object, message: string) => logged.push(message);
    const place = await folder();
    let end: (() => Promise<void>) | undefined;
    const app = await createServer({
      checkToken: () => undefined,
      folioLimit: { acquire: () => () => undefined },
      uploads: {
        path: (folio: string) => join(place, folio),
        sync: async () => {
          await end?.();
          throw new Error('the store is closed');
        },
        remove: async () => undefined,
      },
      time: new TimeScale(1, 0),
      faults: () => undefined,
      onCall: () => undefined,
      maxUploadBytes: 1024,
      segmentRecords: 10,
      logger: { info: () => undefined, warn: () => undefined, error },
    } satisfies Partial<Record<keyof ServerContext, unknown>> as unknown as ServerContext);
    await app.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const failed = await upload(url, uploadCsv(1), { token: TOKEN });
    expect([failed.status, logged]).toEqual([500, ['unexpected error: Error: the store is closed']]);
    end = () => app.close();
    await expect(upload(url, uploadCsv(1), { token: TOKEN })).rejects.toThrow();
    expect(logged).toHaveLength(1);
  });

  it('gives a folio for an upload', async () => {
    await withService({}, async ({ baseUrl: url }) => {
      const { status, headers, body } = await upload(url, uploadCsv(3), {
        token: TOKEN,
        description: 'ours',
      });
      expect(status).toBe(200);
      expect(headers.get('foliopipe-service')).toBe('local');
      expect(body).toEqual({
        response: {
          folio: expect.stringMatching(/^[0-9a-z]{20,}$/),
          fileName: 'businesses.csv',
          dateUpload: expect.stringMatching(TIMESTAMP),
          status: 'PROCESSING',
          totalRecords: 3,
        },
        message: expect.any(String),
      });
    });
  });

  it('tracks a folio to its end and lists its parts', async () => {
    const { successful, failed } = expectedResults(250);
    await withService({ segmentRecords: 100 }, async ({ baseUrl: url }) => {
      const { body } = await upload(url, uploadCsv(250), { token: TOKEN, description: 'ours' });
      const { folio } = body.response;
      await trackFinished(url, folio);
      const tracked = await track(url, folio);
      expect(tracked.headers.get('foliopipe-service')).toBe('local');
      expect(failed.length).toBeGreaterThan(0);
      expect(tracked.body).toEqual({
        response: {
          folio,
          filename: 'businesses.csv',
          description: 'ours',
          createdAt: expect.stringMatching(TIMESTAMP),
          records: 250,
          progressInfo: {
            status: 'FINISHED',
            processedPercentage: 100,
            processedRecords: 250,
            successfulRecords: successful.length,
            failedRecords: failed.length,
          },
          segmentation: [
            { part: 0, range: '[1-100]', filename: `${folio}-successful-0.csv` },
            { part: 1, range: '[101-200]', filename: `${folio}-successful-1.csv` },
            { part: 2, range: `[201-${successful.length}]`, filename: `${folio}-successful-2.csv` },
          ],
          failedInfo: { part: 0, range: `[1-${failed.length}]`, filename: `${folio}-failed-0.csv` },
        },
        message: expect.stringContaining('can be downloaded'),
      });
    });
  });

  it('gives back every record, unchanged, in exactly one part', async () => {
    const { successful, failed } = expectedResults(250);
    await withService({ segmentRecords: 100 }, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, uploadCsv(250));
      await trackFinished(url, folio);
      for (const part of [0, 1, 2]) {
        const records = successful.slice(part * 100, (part + 1) * 100).join('');
        expect(await partText(url, folio, part)).toBe(SUCCESSFUL_HEADER + records);
      }
      expect(await partText(url, folio, 0, 'FAILED')).toBe(FAILED_HEADER + failed.join(''));
    });
  });

  it('reads a BOM, CRLF and a last record without a line end', async () => {
    await withService({}, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, '\u{feff}NAME\r\nAcme\r\n\r\nOther');
      await trackFinished(url, folio);
      const lines = (await partText(url, folio, 0)).split('\n');
      expect(lines.map((line) => line.split(',')[0])).toEqual(['NAME', 'Acme', 'Other', '']);
      expect(lines[0]).toBe('NAME,naics_code,naics_title,confidence');
    });
  });

  it('lists the failed part even when nothing failed', async () => {
    await withService({}, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, 'name\nAcme\n');
      const { progressInfo, failedInfo } = await trackFinished(url, folio);
      expect(progressInfo.failedRecords).toBe(0);
      expect(failedInfo).toEqual({ part: 0, range: '[0-0]', filename: `${folio}-failed-0.csv` });
      expect(await partText(url, folio, 0, 'FAILED')).toBe('name,reason\n');
    });
  });

  it('lists no successful part when everything failed', async () => {
    await withService({}, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, 'id,name\n1,\n2,""\n');
      const { progressInfo, segmentation, failedInfo } = await trackFinished(url, folio);
      expect(progressInfo).toMatchObject({ successfulRecords: 0, failedRecords: 2 });
      expect(segmentation).toEqual([]);
      expect(failedInfo.range).toBe('[1-2]');
    });
  });

  it('shows honest progress and refuses parts while PROCESSING', async () => {
    await withService({ recordsPerSecond: 2000, segmentRecords: 50 }, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, uploadCsv(2000));
      const response = await trackUntil(url, folio, ({ segmentation }) => segmentation.length > 0);
      const { progressInfo } = response;
      expect(progressInfo.status).toBe('PROCESSING');
      expect(progressInfo.processedRecords).toBe(progressInfo.successfulRecords + progressInfo.failedRecords);
      expect(progressInfo.processedPercentage).toBe(Math.floor(progressInfo.processedRecords / 20));
      expect((await track(url, folio)).body.message).toContain('cannot yet be downloaded');
      const refused = await download(url, { folio, part: '0', fileStatus: 'SUCCESSFUL' });
      expect(refused.status).toBe(409);
      expect(refused.body.response).toBeNull();
    });
  });

  it('takes the token as a query parameter, as a header, or as a field', async () => {
    await withService({}, async ({ baseUrl: url }) => {
      const path = `${url}/naics/naics/external/upload`;
      const post = { method: 'POST', body: uploadForm(uploadCsv(1), {}) };
      const byQuery = await send(`${path}?token=${TOKEN}`, post);
      const byHeader = await send(path, { ...post, headers: { token: TOKEN } });
      const byField = await upload(url, uploadCsv(1));
      expect([byQuery.status, byHeader.status, byField.status]).toEqual([200, 200, 200]);
      const { folio } = byField.body.response;
      const info = await send(`${path}/file/info?folio=${folio}`, { headers: { token: TOKEN } });
      expect(info.status).toBe(200);
    });
  });

  it('answers a single search', async () => {
    await withService({ predictor: 'naics' }, async ({ baseUrl: url }) => {
      const { status, headers, body } = await search(url, {
        token: TOKEN,
        name: 'Billings Veterinary Clinic',
        address: '1 Main St',
        state: 'MT',
      });
      expect(status).toBe(200);
      expect(headers.get('foliopipe-service')).toBe('local');
      expect(body.response).toEqual({
        naics_code: '541940',
        naics_title: 'Veterinary Services',
        confidence: expect.any(Number),
      });
      expect(body.message).toEqual(expect.any(String));
    });
  });

  it('gives back a part of many megabytes whole', async () => {
    await withService({ segmentRecords: 1_000_000 }, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, uploadCsv(100_000));
      await trackFinished(url, folio);
      const expected = SUCCESSFUL_HEADER + expectedResults(100_000).successful.join('');
      expect(expected.length).toBeGreaterThan(8_000_000);
      expect((await partText(url, folio, 0)) === expected).toBe(true);
    });
  });
});
