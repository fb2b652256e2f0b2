/** The local service as a test of an embedding program uses it: opened with defaults, read, and given other faults. */
import { readdir } from 'node:fs/promises';
import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { openService, parseFaults, type ServiceOptions } from '../src/service.js';
import { useFolder } from './helpers/folders/folders.js';
import { acceptedFolio, search, TOKEN, track, trackFinished, upload } from './helpers/service/client.js';

const folderOf = useFolder();
const twoRecords = 'record_id,name,state\n1,"Bell, Inc",MT\n2,Acme,ID\n';
const sent = [
  { record_id: '1', name: 'Bell, Inc', state: 'MT' },
  { record_id: '2', name: 'Acme', state: 'ID' },
];

const open = (options: ServiceOptions = {}) => openService({ token: TOKEN, predictor: 'hash', ...options });

describe('a service for tests', () => {
  it('needs no options, has a token of its own, and leaves no folder behind', async () => {
    const folder = await folderOf();
    vi.stubEnv('TMPDIR', folder);
    const service = await openService();
    vi.unstubAllEnvs();
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^foliopipe-service-/)]);
    expect(service.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const token = service.token.reveal();
    expect(inspect(service) + JSON.stringify(service)).not.toContain(token);
    expect((await upload(service.baseUrl, twoRecords)).status).toBe(401);
    expect((await upload(service.baseUrl, twoRecords, { token })).status).toBe(200);
    await Promise.all([service.close(), service[Symbol.asyncDispose]()]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('leaves no folder behind if it cannot be opened', async () => {
    const folder = await folderOf();
    vi.stubEnv('TMPDIR', folder);
    await expect(openService({ host: '192.0.2.1' })).rejects.toMatchObject({ code: 'SERVICE_CANNOT_LISTEN' });
    vi.unstubAllEnvs();
    expect(await readdir(folder)).toEqual([]);
  });

  it('tells what it has accepted, while it works and afterwards', async () => {
    const folder = await folderOf();
    const slow = await open({ dataDir: folder, recordsPerSecond: 1 });
    const folio = await acceptedFolio(slow.baseUrl, twoRecords);
    await upload(slow.baseUrl, 'refused');
    const [working, ...others] = slow.uploads();
    expect(others).toEqual([]);
    expect(working).toMatchObject({ folio, fileName: 'businesses.csv', status: 'PROCESSING', records: 2 });
    expect(working!.sent()).toEqual(sent);
    await slow.close();

    const quick = await open({ dataDir: folder });
    await trackFinished(quick.baseUrl, folio);
    const [done] = quick.uploads();
    expect(done).toMatchObject({ folio, status: 'FINISHED', successful: 2, failed: 0 });
    expect(done!.sent()).toEqual(sent);
    await quick.close();
  });

  it('tells the records of an upload with several parts and failures', async () => {
    const faults = parseFaults({ rules: [{ on: 'upload', fault: { fail: '50%' } }] });
    const service = await open({ segmentRecords: 3, faults });
    const names = Array.from({ length: 40 }, (_, at) => `Name ${at}`);
    const folio = await acceptedFolio(service.baseUrl, `\u{feff}name\r\n${names.join('\r\n')}`);
    await trackFinished(service.baseUrl, folio);
    const [upload] = service.uploads();
    expect(upload!.successful).toBeGreaterThan(3);
    expect(upload!.failed).toBeGreaterThan(3);
    expect(
      upload!
        .sent()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.sort());
    await service.close();
  });

  it('counts the calls of each operation', async () => {
    const service = await open();
    const folio = await acceptedFolio(service.baseUrl, twoRecords);
    await track(service.baseUrl, folio);
    await track(service.baseUrl, 'unknown');
    await search(service.baseUrl, { token: 'wrong', name: 'Acme' });
    expect(service.calls()).toEqual({ upload: 1, track: 2, download: 0, search: 1 });
    await service.close();
  });
});

describe('setFaults', () => {
  it('counts calls, folios and time from then on, and undefined ends the faults', async () => {
    const service = await open();
    const { baseUrl } = service;
    const before = await acceptedFolio(baseUrl, twoRecords);
    await trackFinished(baseUrl, before);
    service.setFaults(
      parseFaults(`
rules:
  - { on: upload, calls: 2, fault: { status: 503 } }
  - { on: track, folio: 1, fault: { forget: true } }
  - { on: search, between: { after: 1h }, fault: { status: 500 } }
`),
    );
    const after = await acceptedFolio(baseUrl, twoRecords);
    expect((await upload(baseUrl, twoRecords)).status).toBe(503);
    expect((await track(baseUrl, before)).status).toBe(200);
    expect((await track(baseUrl, after)).status).toBe(404);
    expect((await search(baseUrl, { token: TOKEN, name: 'Acme' })).status).toBe(200);

    service.setFaults(undefined);
    expect((await track(baseUrl, after)).status).toBe(200);
    expect((await upload(baseUrl, twoRecords)).status).toBe(200);
    expect(service.uploads()).toHaveLength(3);
    await service.close();
  });
});

describe('parseFaults', () => {
  it('names the lines of a text with problems', () => {
    const parse = (text: string) => () => parseFaults(text);
    expect(parse('seed: 1\nrules:\n  - on: uplod\n    fault: { status: 500 }\n')).toThrow(/line 3/);
    expect(parse('rules: [\n')).toThrow(/line \d+ is not YAML/);
  });
});
