/** Rules on uploaded files, which refuse a file or fail a share of its records; and folios as a faulty call sees them. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/service/faults/fault.js';
import { findTexts, withFolioFaults } from '../../../src/service/faults/operate-with-faults.js';
import { parseFaults } from '../../../src/service/faults/read-faults.js';
import { openService, type ServiceOptions } from '../../../src/service/open-service.js';
import type { Folio } from '../../../src/service/store/folio.js';
import { TimeScale } from '../../../src/service/time-scale.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  acceptedFolio,
  partText,
  serviceOptions,
  trackFinished,
  trackUntil,
  upload,
  withService,
} from '../../helpers/service/client.js';
import { expectedResults, uploadCsv } from '../../helpers/service/expected-results.js';

const HOUR = 3_600_000;
const REASON = 'made to fail by a fault rule';

function rules(...given: readonly object[]): Pick<ServiceOptions, 'faults'> {
  return { faults: parseFaults({ seed: 7, rules: given }) };
}

/** Numbers of the records that the failed part gives the reason of a forced failure for. */
async function forcedToFail(url: string, folio: string): Promise<number[]> {
  await trackFinished(url, folio);
  const failed: Record<string, string>[] = parse(await partText(url, folio, 0, 'FAILED'), { columns: true });
  return failed.filter(({ reason }) => reason === REASON).map(({ record_id }) => Number(record_id));
}

describe('a rule on uploads with at least so many records', () => {
  it.each([413, 400, 422])('refuses them with %i, keeps nothing and takes smaller ones', async (status) => {
    const faults = rules({ on: 'upload', records: { from: 10 }, fault: { status } });
    await withService({ ...faults, maxOpen: 1, recordsPerSecond: 1 }, async ({ baseUrl: url }, dataDir) => {
      const refused = await upload(url, uploadCsv(10));
      expect(refused).toMatchObject({ status, body: { response: null } });
      expect(await readdir(join(dataDir, 'uploads'))).toEqual([]);
      expect((await upload(url, uploadCsv(9))).status).toBe(200); // The one slot is still free.
      expect(await readdir(join(dataDir, 'uploads'))).toHaveLength(1);
    });
  });
});

describe('a rule on uploads that contain a text', () => {
  const bad = 'record_id,name\n1,Good\n2,"Very Bad, Inc"\n';
  const good = 'record_id,name\n1,Good\n';

  it('refuses them; the description and the file name do not count', async () => {
    const faults = rules({ contains: 'Very Bad', fault: { status: 422 } });
    await withService(faults, async ({ baseUrl: url }) => {
      expect((await upload(url, bad)).status).toBe(422);
      const noted = await upload(url, good, { token: 'a-token-of-the-tests', description: 'Very Bad' });
      expect(noted.status).toBe(200);
    });
  });

  it('cuts the connection before anything is accepted', async () => {
    const faults = rules({ on: 'upload', contains: 'Very Bad', fault: { cut: 'before-reply' } });
    await withService({ ...faults, maxOpen: 1, recordsPerSecond: 1 }, async ({ baseUrl: url }) => {
      await expect(upload(url, bad)).rejects.toThrow();
      expect((await upload(url, good)).status).toBe(200);
    });
  });

  it('still counts the calls, and the first rule wins', async () => {
    const faults = rules(
      { on: 'upload', contains: 'Very Bad', fault: { status: 422 } },
      { on: 'upload', calls: { from: 2 }, fault: { status: 503 } },
    );
    await withService(faults, async ({ baseUrl: url }) => {
      const statuses = [];
      for (const file of [good, bad, good]) statuses.push((await upload(url, file)).status);
      expect(statuses).toEqual([200, 422, 503]);
    });
  });

  it('still refuses what the service itself refuses', async () => {
    const faults = rules({ on: 'upload', contains: 'Bad', fault: { html: true } });
    await withService(faults, async ({ baseUrl: url }) => {
      expect((await upload(url, 'record_id,title\n1,Bad\n')).status).toBe(400);
      expect((await upload(url, bad, { token: 'another' })).status).toBe(401);
    });
  });
});

describe('a share of records that fail', () => {
  const newFolder = useFolder();

  it('fails them with a reason, besides those that the predictor fails', async () => {
    await withService(rules({ on: 'upload', fault: { fail: '30%' } }), async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, uploadCsv(1000));
      const made = await forcedToFail(url, folio);
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

  it('is decided by seed, folio and record, for files with the text', async () => {
    const failing = rules({ contains: 'Baker', fault: { fail: 0.5 } });
    const made = async (faults: Pick<ServiceOptions, 'faults'>) => {
      const all: number[][] = [];
      await withService(faults, async ({ baseUrl: url }) => {
        for (let folio = 1; folio <= 2; folio++) {
          all.push(await forcedToFail(url, await acceptedFolio(url, uploadCsv(40))));
        }
        all.push(await forcedToFail(url, await acceptedFolio(url, 'record_id,name\n1,Acme\n')));
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

  it('is kept with the folio when the service is restarted without rules', async () => {
    const dataDir = await newFolder();
    const csv = uploadCsv(4000);
    const options = { ...rules({ fault: { fail: '20%' } }), recordsPerSecond: 20_000 };
    const first = await openService(serviceOptions(dataDir, options));
    const folio = await acceptedFolio(first.baseUrl, csv);
    await trackUntil(first.baseUrl, folio, ({ progressInfo }) => progressInfo.processedRecords > 100);
    await first.close();
    const second = await openService(serviceOptions(dataDir));
    const made = await forcedToFail(second.baseUrl, folio);
    await second.close();
    await withService(rules({ fault: { fail: '20%' } }), async ({ baseUrl: url }) => {
      expect(await forcedToFail(url, await acceptedFolio(url, csv))).toEqual(made);
    });
    expect(Math.max(...made)).toBeGreaterThan(3900);
  });
});

/** What a call with this fault finds when it asks for a folio of 3 records, finished an hour of the service ago. */
function find(fault: Fault, changes: Partial<Folio> = {}): Folio | undefined {
  const folio: Folio = {
    id: 1,
    folio: 'f1',
    fileName: 'a.csv',
    description: '',
    createdAt: Date.now() - HOUR,
    header: Buffer.from('name'),
    records: 3,
    segmentRecords: 10,
    failShare: 0,
    failSeed: 0,
    status: 'FINISHED',
    offset: 5,
    successful: 2,
    failed: 1,
    finishedAt: Date.now() - HOUR / 60,
    ...changes,
  };
  return withFolioFaults({ find: () => folio, *content() {} }, fault, new TimeScale(60, 0)).find('f1');
}

describe('withFolioFaults', () => {
  it('expires results by service time, counted from when they were finished', () => {
    expect(() => find({ expire: HOUR })).toThrow('expired');
    expect(find({ expire: 2 * HOUR })?.status).toBe('FINISHED');
  });

  it('goes by the upload when it is not known when the folio was finished', () => {
    expect(() => find({ expire: 59 * HOUR }, { finishedAt: null })).toThrow('expired');
    expect(find({ expire: 61 * HOUR }, { finishedAt: null })?.status).toBe('FINISHED');
  });

  it('expires nothing that is not finished', () => {
    expect(find({ expire: 0 }, { status: 'PROCESSING', finishedAt: null })?.status).toBe('PROCESSING');
  });

  it.each([
    [
      { successful: 2, failed: 1 },
      { successful: 2, failed: 0 },
    ],
    [
      { successful: 3, failed: 0 },
      { successful: 2, failed: 0 },
    ],
    [
      { successful: 1, failed: 0 },
      { successful: 1, failed: 0 },
    ],
  ])('never finishes %j', (counts, seen) => {
    expect(find({ neverFinishes: true }, counts)).toMatchObject({ status: 'PROCESSING', ...seen });
  });

  it('forgets a folio', () => {
    expect(find({ forget: true })).toBeUndefined();
  });
});

describe('findTexts', () => {
  const folder = useFolder();
  const PIECE = 64 * 1024;

  it('finds texts at the beginning, at the end, and across the pieces that are read', async () => {
    const path = join(await folder(), 'upload.csv');
    const middle = 'a'.repeat(PIECE - 'first'.length - 3);
    await writeFile(path, `first${middle}Größe${'b'.repeat(2 * PIECE)}last`);
    const found = await findTexts(path, ['first', 'Größe', 'last', 'firsta', 'Größer', 'ebb', 'x']);
    expect([...found].sort()).toEqual(['Größe', 'ebb', 'first', 'firsta', 'last']);
  });

  it('finds nothing when nothing is sought, nor in an empty file', async () => {
    const path = join(await folder(), 'empty.csv');
    await writeFile(path, '');
    expect(await findTexts(path, [])).toEqual(new Set());
    expect(await findTexts(path, ['a'])).toEqual(new Set());
  });
});
