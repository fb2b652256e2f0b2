import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConfigInput, enrich, parseConfig } from 'foliopipe';
import { openService, parseFaults, type Service } from 'foliopipe/service';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

let folder: string;
let service: Service;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nightly-'));
  await writeFile(
    join(folder, 'source.csv'),
    'id,name,secret\n1,Bitterroot Dental Clinic,x\n2,Missoula Bakery,y\n',
  );
  service = await openService();
});
beforeEach(() => service.setFaults(undefined));
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

/** The config of the nightly job, with the local service in place of the real one. */
const configOf = (pipeline: string, more: Partial<ConfigInput> = {}) =>
  parseConfig(
    {
      pipeline,
      source: { path: 'source.csv' },
      upload: { columns: { name: 'name' } },
      // The default limit is meant for the real service, and would slow this one down too.
      service: { embedded: true, requestsPerSecond: 1_000 },
      poll: { first: '10ms', max: '50ms' },
      output: { path: `${pipeline}.csv` },
      ...more,
    },
    folder,
  );

it('sends the names and nothing else', async () => {
  const summary = await enrich(configOf('names'), { endpoint: service });
  expect(summary.counts.successful).toBe(2);
  expect(service.uploads().at(-1)!.sent()).toEqual([
    { record_id: '1', name: 'Bitterroot Dental Clinic' },
    { record_id: '2', name: 'Missoula Bakery' },
  ]);
});

it('fetches a broken part again and pays once', async () => {
  const paid = service.uploads().length;
  const { download } = service.calls();
  service.setFaults(parseFaults('rules: [{ on: download, calls: 1, fault: { brokenBase64: true } }]'));
  await enrich(configOf('broken'), { endpoint: service });
  expect(service.uploads()).toHaveLength(paid + 1);
  expect(service.calls().download).toBe(download + 2);
});

it('costs what was agreed', async () => {
  // The replies look like those of another service: the run is no rehearsal, so it counts money and would be loaded.
  service.setFaults(parseFaults('rules: [{ fault: { foreign: true } }]'));
  const { baseUrl, token } = service;
  const config = configOf('cost', {
    service: { baseUrl, token: token.reveal(), requestsPerSecond: 1_000 },
    budget: { pricePerRecord: 0.02, currency: 'EUR' },
  });
  const summary = await enrich(config);
  expect(summary.rehearsal).toBe(false);
  expect(summary.paid).toMatchObject({ amount: 0.04, currency: 'EUR' });
});
