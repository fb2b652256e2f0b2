/** What the service refuses, with which status, and that every refusal has the one shape. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openService, type Service } from '../../src/service/open-service.js';
import {
  acceptedFolio,
  download,
  makeDataDir,
  type Reply,
  removeDataDir,
  search,
  send,
  serviceOptions,
  TOKEN,
  track,
  trackFinished,
  upload,
  uploadForm,
  withService,
} from '../helpers/service-client.js';
import { uploadCsv } from '../helpers/service-results.js';

const MAX_UPLOAD_BYTES = 100_000;

function expectRefusal(reply: Reply, status: number, reason: RegExp): void {
  expect(reply.body).toEqual({ message: expect.stringMatching(reason), response: null });
  expect(reply.status).toBe(status);
  expect(reply.headers.get('foliopipe-service')).toBe('local');
  expect(reply.headers.get('content-type')).toContain('application/json');
}

describe('refusals', () => {
  let dataDir: string;
  let service: Service;
  let finished: string;

  beforeAll(async () => {
    dataDir = await makeDataDir();
    service = await openService(serviceOptions(dataDir, { maxUploadBytes: MAX_UPLOAD_BYTES }));
    finished = await acceptedFolio(service.url, uploadCsv(10));
    await trackFinished(service.url, finished);
  });

  afterAll(async () => {
    await service.close();
    await removeDataDir(dataDir);
  });

  it.each([
    ['an empty file', '', /empty/],
    ['a header without records', 'name,state\n', /no records/],
    ['no name column', 'id,BusinessName\n1,Acme\n', /no column called name/],
    ['a record with too many fields', 'id,name\n1,Acme\n2,Acme,MT\n', /record 2 /],
    ['a quote that is never closed', 'id,name\n1,"Acme\n', /record 1 /],
    ['a quote within an unquoted field', 'id,name\n1,Ac"me\n', /record 1 /],
    ['a malformed header', '"name,id\n1,Acme\n', /header/],
    ['a header without an end', `name${'x'.repeat(70_000)}\nAcme\n`, /./],
  ])('400 for %s', async (_what, csv, reason) => {
    expectRefusal(await upload(service.url, csv), 400, reason);
  });

  it('400 for an upload without a file, with a file of another name, or not multipart', async () => {
    const target = `${service.url}/naics/naics/external/upload`;
    const noFile = new FormData();
    noFile.append('token', TOKEN);
    expectRefusal(await send(target, { method: 'POST', body: noFile }), 400, /file is missing/);
    const other = new FormData();
    other.append('token', TOKEN);
    other.append('document', new Blob([uploadCsv(1)]), 'a.csv');
    expectRefusal(await send(target, { method: 'POST', body: other }), 400, /document/);
    const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    expectRefusal(await send(`${target}?token=${TOKEN}`, json), 400, /multipart/);
  });

  it.each([
    ['no folio', { part: '0', fileStatus: 'SUCCESSFUL' }, 400],
    ['no part', { folio: '@', fileStatus: 'SUCCESSFUL' }, 400],
    ['a part that is no number', { folio: '@', part: '-1', fileStatus: 'SUCCESSFUL' }, 400],
    ['no fileStatus', { folio: '@', part: '0' }, 400],
    ['another fileStatus', { folio: '@', part: '0', fileStatus: 'toString' }, 400],
    ['an unknown folio', { folio: 'nobody', part: '0', fileStatus: 'SUCCESSFUL' }, 404],
    ['an unknown part', { folio: '@', part: '1', fileStatus: 'SUCCESSFUL' }, 404],
    ['a second failed part', { folio: '@', part: '1', fileStatus: 'FAILED' }, 404],
  ])('a download with %s', async (_what, query: Record<string, string>, status) => {
    const folio = query.folio === '@' ? { folio: finished } : {};
    expectRefusal(await download(service.url, { ...query, ...folio }), status, /./);
  });

  it('401 without the token or with another, for every operation', async () => {
    const form = { method: 'POST', body: uploadForm(uploadCsv(1), {}) };
    const target = `${service.url}/naics/naics/external/upload`;
    expectRefusal(await send(target, form), 401, /token is missing/);
    expectRefusal(await upload(service.url, uploadCsv(1), { token: 'x' }), 401, /token is not known/);
    expectRefusal(await send(`${target}?token=x`, form), 401, /token/);
    expectRefusal(await send(`${target}?token=${TOKEN}&token=${TOKEN}`, form), 401, /token/);
    expectRefusal(await track(service.url, finished, 'x'), 401, /token/);
    const part = { folio: finished, part: '0', fileStatus: 'SUCCESSFUL' };
    expectRefusal(await download(service.url, { ...part, token: 'x' }), 401, /token/);
    expectRefusal(await search(service.url, { name: 'Acme' }), 401, /token/);
  });

  it('401 before a large upload is read', async () => {
    const large = uploadCsv(100_000);
    expectRefusal(await upload(service.url, large, { token: 'x' }), 401, /token/);
  });

  it('404 for an unknown folio or operation', async () => {
    expectRefusal(await track(service.url, 'nobody'), 404, /folio/);
    expectRefusal(await send(`${service.url}/else`), 404, /operation/);
  });

  it('413 for a file that is too large, and nothing of it is left', async () => {
    const largest = `name\n${'x'.repeat(MAX_UPLOAD_BYTES - 6)}\n`;
    expect((await upload(service.url, largest)).status).toBe(200);
    expectRefusal(await upload(service.url, uploadCsv(10_000)), 413, /100000 bytes/);
    await expect.poll(() => readdir(path.join(dataDir, 'uploads'))).toEqual([]);
  });

  it('400 and 404 for a search', async () => {
    expectRefusal(await search(service.url, { token: TOKEN }), 400, /name/);
    const broken = { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } };
    expectRefusal(await send(`${service.url}/naics/naics/search/additional/`, broken), 400, /./);
    await withService({ predictor: 'naics' }, async ({ url }) => {
      expectRefusal(await search(url, { token: TOKEN, name: 'Zzyzx Qwrtp' }), 404, /no industry/);
    });
  });

  it('429 with Retry-After while as many folios as allowed are open', async () => {
    await withService({ recordsPerSecond: 1, maxOpen: 1 }, async ({ url }) => {
      await acceptedFolio(url, uploadCsv(30));
      const reply = await upload(url, uploadCsv(1));
      expectRefusal(reply, 429, /open/);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(20);
    });
  });

  it('gives a place back when an upload is refused', async () => {
    await withService({ maxOpen: 1 }, async ({ url }) => {
      expect((await upload(url, 'id\n1\n')).status).toBe(400);
      expect((await upload(url, uploadCsv(1))).status).toBe(200);
    });
  });
});
