/** A service opened on the folder of a killed one knows its folios and gives the same results. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, LockedError } from '../../src/errors.js';
import { parseFaults } from '../../src/service/faults/read-faults.js';
import { openService, type ServiceOptions } from '../../src/service/open-service.js';
import { useFolder, withFolder } from '../helpers/folders/folders.js';
import {
  acceptedFolio,
  partText,
  serviceOptions,
  track,
  trackFinished,
  trackUntil,
  withService,
} from '../helpers/service/client.js';
import {
  expectedResults,
  FAILED_HEADER,
  SUCCESSFUL_HEADER,
  uploadCsv,
} from '../helpers/service/expected-results.js';

const CHILD = fileURLToPath(new URL('../helpers/processes/service-child.js', import.meta.url));
const RECORDS = 20_000;

async function startChild(options: ServiceOptions) {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), child };
}

it.each<[object, RegExp]>([
  [
    { segmentRecords: 0, recordsPerSecond: -5 },
    /2 options are wrong:\n {2}segmentRecords: .*\n {2}recordsPer/,
  ],
  [{ predictor: 'foo' }, /predictor: must be 'naics' or 'hash'/],
  [{ port: 'x', timeScale: 0, maxOpen: Number.NaN }, /3 options/],
  [{ token: 'se cret\n' }, /token: must have printable ASCII characters alone, and no spaces$/],
])('options %j are refused before anything is opened', async (options, message) => {
  const error = await openService(options as ServiceOptions).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'SERVICE_OPTIONS', message: expect.stringMatching(message) });
});

it('faults of another shape are refused, and a closed service says that it is closed', async () => {
  const service = await openService({ predictor: 'hash' });
  const wrong = { rules: 'x' } as never;
  expect(() => service.setFaults(wrong)).toThrow('parseFaults');
  await expect(openService({ faults: wrong })).rejects.toMatchObject({ code: 'FAULTS_INVALID' });
  await service.close();
  expect(() => service.uploads()).toThrow('the local service is closed');
  expect(() => service.setFaults(undefined)).toThrow('the local service is closed');
  expect(service.calls().upload).toBe(0);
});

it('a YAML alias that names nothing is an error of the faults', () => {
  expect(() => parseFaults('a: *x')).toThrow(ConfigError);
});

describe('a service on the folder of an earlier one', () => {
  const newFolder = useFolder();
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await newFolder();
  });

  async function expectFinishedAlike(options: ServiceOptions, folio: string): Promise<void> {
    const service = await openService(options);
    try {
      const { progressInfo } = await trackFinished(service.baseUrl, folio);
      const { successful, failed } = expectedResults(RECORDS);
      expect(progressInfo).toMatchObject({
        successfulRecords: successful.length,
        failedRecords: failed.length,
      });
      for (let part = 0; part * 3000 < successful.length; part++) {
        const expected = SUCCESSFUL_HEADER + successful.slice(part * 3000, (part + 1) * 3000).join('');
        expect((await partText(service.baseUrl, folio, part)) === expected).toBe(true);
      }
      const failedText = await partText(service.baseUrl, folio, 0, 'FAILED');
      expect(failedText).toBe(FAILED_HEADER + failed.join(''));
    } finally {
      await service.close();
    }
  }

  it('continues where a killed process stopped', async () => {
    const slow = serviceOptions(dataDir, { recordsPerSecond: 4000, segmentRecords: 3000 });
    const { url, child } = await startChild(slow);
    const folio = await acceptedFolio(url, uploadCsv(RECORDS));
    const before = await trackUntil(url, folio, ({ segmentation }) => segmentation.length > 1);
    expect(before.progressInfo.status).toBe('PROCESSING');
    child.kill('SIGKILL');
    await once(child, 'exit');

    const idle = await openService({ ...slow, recordsPerSecond: 1 });
    const after = (await track(idle.baseUrl, folio)).body.response;
    await idle.close();
    expect(after.progressInfo.processedRecords).toBeGreaterThanOrEqual(before.progressInfo.processedRecords);
    expect(after.createdAt).toBe(before.createdAt);

    await expectFinishedAlike({ ...slow, recordsPerSecond: 0 }, folio);
  });

  it('continues from a copy of the folder made in the middle, with the part size that the folio began with', async () => {
    const slow = serviceOptions(dataDir, { recordsPerSecond: 20_000, segmentRecords: 3000 });
    const service = await openService(slow);
    const folio = await acceptedFolio(service.baseUrl, uploadCsv(RECORDS));
    await trackUntil(service.baseUrl, folio, ({ progressInfo }) => progressInfo.processedRecords > 5000);
    await service.close();
    await withFolder(async (image) => {
      await cp(dataDir, image, { recursive: true });
      await expectFinishedAlike(serviceOptions(image, { segmentRecords: 7 }), folio);
    });
  });

  it('removes half uploads', async () => {
    await (await openService(serviceOptions(dataDir))).close();
    await writeFile(path.join(dataDir, 'uploads', 'half.csv'), 'name\nAc');
    await (await openService(serviceOptions(dataDir))).close();
    expect(await readdir(path.join(dataDir, 'uploads'))).toEqual([]);
  });

  it('is refused while the earlier one is running', async () => {
    const service = await openService(serviceOptions(dataDir));
    await expect(openService(serviceOptions(dataDir))).rejects.toThrow(LockedError);
    await service.close();
  });

  it('refuses a data folder that cannot be used', async () => {
    const file = path.join(dataDir, 'file');
    await writeFile(file, '');
    await expect(openService(serviceOptions(file))).rejects.toMatchObject({ code: 'SERVICE_DATA_DIR' });
  });

  it('refuses a port that is taken, and releases the folder', async () => {
    const service = await openService(serviceOptions(dataDir));
    const port = Number(new URL(service.baseUrl).port);
    await withFolder(async (other) => {
      const taken = openService(serviceOptions(other, { port }));
      await expect(taken).rejects.toMatchObject({ code: 'SERVICE_CANNOT_LISTEN', exitCode: 2 });
      await (await openService(serviceOptions(other))).close();
    });
    await service.close();
  });
});

describe('openService', () => {
  it('keeps its folder private, and removes the upload of a finished folio', async () => {
    await withService({}, async ({ baseUrl: url }, dataDir) => {
      await trackFinished(url, await acceptedFolio(url, uploadCsv(10)));
      expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
      expect((await stat(path.join(dataDir, 'uploads'))).mode & 0o777).toBe(0o700);
      for (const name of ['service.db', 'service.db-wal']) {
        expect((await stat(path.join(dataDir, name))).mode & 0o777).toBe(0o600);
      }
      await expect.poll(() => readdir(path.join(dataDir, 'uploads'))).toEqual([]);
    });
  });
});
