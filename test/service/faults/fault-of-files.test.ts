/** What a service does with an uploaded file that a rule means: refuse it, or fail a share of its records. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { parseFaults } from '../../../src/service/faults/read-faults.js';
import { openService, type ServiceOptions } from '../../../src/service/open-service.js';
import {
  acceptedFolio,
  makeDataDir,
  partText,
  removeDataDir,
  serviceOptions,
  trackFinished,
  trackUntil,
  upload,
  withService,
} from '../../helpers/service-client.js';
import { expectedResults, uploadCsv } from '../../helpers/service-results.js';

const REASON = 'made to fail by a fault rule';

function rules(...given: readonly object[]): Pick<ServiceOptions, 'faults'> {
  return { faults: parseFaults({ seed: 7, rules: given }) };
}

/** Numbers of the records that a folio's failed part says were made to fail. */
async function madeToFail(url: string, folio: string): Promise<number[]> {
  await trackFinished(url, folio);
  const failed: Record<string, string>[] = parse(await partText(url, folio, 0, 'FAILED'), { columns: true });
  return failed.filter(({ reason }) => reason === REASON).map(({ record_id }) => Number(record_id));
}

describe('a rule on uploads of at least so many records', () => {
  it.each([413, 400, 422])('refuses them with %i, keeps nothing and takes smaller ones', async (status) => {
    const faults = rules({ on: 'upload', records: { from: 10 }, fault: { status } });
    await withService({ ...faults, maxOpen: 1, recordsPerSecond: 1 }, async ({ url }, dataDir) => {
      const refused = await upload(url, uploadCsv(10));
      expect(refused).toMatchObject({ status, body: { response: null } });
      expect(await readdir(join(dataDir, 'uploads'))).toEqual([]);
      expect((await upload(url, uploadCsv(9))).status).toBe(200); // the one place was still free
      expect(await readdir(join(dataDir, 'uploads'))).toHaveLength(1);
    });
  });
});

describe('a rule on uploads that contain a text', () => {
  const bad = 'record_id,name\n1,Good\n2,"Very Bad, Inc"\n';
  const good = 'record_id,name\n1,Good\n';

  it('refuses them, and neither the note nor the name of a file counts', async () => {
    const faults = rules({ contains: 'Very Bad', fault: { status: 422 } });
    await withService(faults, async ({ url }) => {
      expect((await upload(url, bad)).status).toBe(422);
      const noted = await upload(url, good, { token: 'a-token-of-the-tests', description: 'Very Bad' });
      expect(noted.status).toBe(200);
    });
  });

  it('cuts the connection before anything is accepted', async () => {
    const faults = rules({ on: 'upload', contains: 'Very Bad', fault: { cut: 'before-reply' } });
    await withService({ ...faults, maxOpen: 1, recordsPerSecond: 1 }, async ({ url }) => {
      await expect(upload(url, bad)).rejects.toThrow();
      expect((await upload(url, good)).status).toBe(200);
    });
  });

  it('leaves other faults, the first one first, and the count of the calls', async () => {
    const faults = rules(
      { on: 'upload', contains: 'Very Bad', fault: { status: 422 } },
      { on: 'upload', calls: { from: 2 }, fault: { status: 503 } },
    );
    await withService(faults, async ({ url }) => {
      const statuses = [];
      for (const file of [good, bad, good]) statuses.push((await upload(url, file)).status);
      expect(statuses).toEqual([200, 422, 503]);
    });
  });

  it('still refuses what the service itself would refuse', async () => {
    const faults = rules({ on: 'upload', contains: 'Bad', fault: { html: true } });
    await withService(faults, async ({ url }) => {
      expect((await upload(url, 'record_id,title\n1,Bad\n')).status).toBe(400);
      expect((await upload(url, bad, { token: 'another' })).status).toBe(401);
    });
  });
});

describe('a share of records that fail', () => {
  it('fails them with a reason, beside those that the predictor fails', async () => {
    await withService(rules({ on: 'upload', fault: { fail: '30%' } }), async ({ url }) => {
      const folio = await acceptedFolio(url, uploadCsv(1000));
      const made = await madeToFail(url, folio);
      expect(made.length).toBeGreaterThan(230);
      expect(made.length).toBeLessThan(370);
      const { successful, failed } = expectedResults(1000);
      const isMade = (row: string) => made.includes(Number.parseInt(row, 10));
      const { progressInfo } = await trackFinished(url, folio);
      expect(progressInfo.failedRecords).toBe(made.length + failed.filter((row) => !isMade(row)).length);
      const whole = (await partText(url, folio, 0)).split('\n').slice(1).join('\n');
      expect(whole).toBe(successful.filter((row) => !isMade(row)).join(''));
    });
  });

  it('is decided by seed, folio and record, and by the text in a file', async () => {
    const failing = rules({ contains: 'Baker', fault: { fail: 0.5 } });
    const made = async (faults: Pick<ServiceOptions, 'faults'>) => {
      const all: number[][] = [];
      await withService(faults, async ({ url }) => {
        for (let folio = 1; folio <= 2; folio++) {
          all.push(await madeToFail(url, await acceptedFolio(url, uploadCsv(40))));
        }
        all.push(await madeToFail(url, await acceptedFolio(url, 'record_id,name\n1,Acme\n')));
      });
      return all;
    };
    const [first, second, other] = await made(failing);
    expect(await made(failing)).toEqual([first, second, other]);
    expect(first).not.toEqual(second);
    expect(other).toEqual([]);
    const reseeded = parseFaults({ seed: 8, rules: [{ fault: { fail: 0.5 } }] });
    expect((await made({ faults: reseeded }))[0]).not.toEqual(first);
  });

  it('stays with the folio when the service is started again without any rules', async () => {
    const dataDir = await makeDataDir();
    const csv = uploadCsv(4000);
    const options = { ...rules({ fault: { fail: '20%' } }), recordsPerSecond: 20_000 };
    const first = await openService(serviceOptions(dataDir, options));
    const folio = await acceptedFolio(first.url, csv);
    await trackUntil(first.url, folio, ({ progressInfo }) => progressInfo.processedRecords > 100);
    await first.close();
    const second = await openService(serviceOptions(dataDir));
    const made = await madeToFail(second.url, folio);
    await second.close();
    await removeDataDir(dataDir);
    await withService(rules({ fault: { fail: '20%' } }), async ({ url }) => {
      expect(await madeToFail(url, await acceptedFolio(url, csv))).toEqual(made);
    });
    expect(Math.max(...made)).toBeGreaterThan(3900);
  });
});
