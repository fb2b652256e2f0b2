/** Uploads: which files are refused and leave nothing behind, and how many may be open at once. */
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openService, type Service } from '../../../src/service/open-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import {
  acceptedFolio,
  expectRefusal,
  partText,
  send,
  serviceOptions,
  TOKEN,
  trackUntil,
  upload,
  withService,
} from '../../helpers/service/client.js';
import { expectedResults, SUCCESSFUL_HEADER, uploadCsv } from '../../helpers/service/expected-results.js';

const MAX_UPLOAD_BYTES = 100_000;

describe('a refused upload', () => {
  const newFolder = useSharedFolder();
  let dataDir: string;
  let service: Service;

  beforeAll(async () => {
    dataDir = await newFolder();
    service = await openService(serviceOptions(dataDir, { maxUploadBytes: MAX_UPLOAD_BYTES }));
  });

  afterAll(() => service.close());

  it.each([
    ['an empty file', '', /empty/],
    ['a header without records', 'name,state\n', /no records/],
    ['no name column', 'id,BusinessName\n1,Acme\n', /no column called name/],
    ['a column that the answers add', 'naics_code,name\n1,Acme\n', /"naics_code".*another name/],
    ['a record with too many fields', 'id,name\n1,Acme\n2,Acme,MT\n', /record 2 /],
    ['a quote that is never closed', 'id,name\n1,"Acme\n', /record 1 /],
    ['a quote within an unquoted field', 'id,name\n1,Ac"me\n', /record 1 /],
    ['a malformed header', '"name,id\n1,Acme\n', /header/],
    ['a header without an end', `name${'x'.repeat(70_000)}\nAcme\n`, /./],
  ])('400 for %s', async (_what, csv, reason) => {
    expectRefusal(await upload(service.baseUrl, csv), 400, reason);
  });

  it('400 for an upload without a file, with a file of another name, or not multipart', async () => {
    const target = `${service.baseUrl}/naics/naics/external/upload`;
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

  const part = (facts: string, content: string) =>
    `--b\r\ncontent-disposition: form-data; ${facts}\r\n\r\n${content}\r\n`;
  const token = part('name="token"', TOKEN);
  const file = part('name="file"; filename="a.csv"', uploadCsv(1));
  it.each([
    ['without a boundary', 'multipart/form-data', `${token}${file}--b--\r\n`, 400, /malformed/],
    [
      'with another boundary',
      'multipart/form-data; boundary=c',
      `${token}${file}--b--\r\n`,
      400,
      /malformed/,
    ],
    [
      'with a boundary of 300 characters',
      `multipart/form-data; boundary=${'b'.repeat(300)}`,
      file,
      400,
      /malformed/,
    ],
    ['without its end', undefined, token + file, 400, /malformed/],
    ['cut off within the file', undefined, (token + file).slice(0, -20), 400, /malformed/],
    ['cut off within a head', undefined, `${token}--b\r\ncontent-disp`, 400, /malformed/],
    ['of other bytes', undefined, '\u0000\u0001\u00ff', 400, /malformed/],
    [
      'with a field of a megabyte',
      undefined,
      `${token}${part('name="description"', 'd'.repeat(1e6))}${file}--b--\r\n`,
      413,
      /description/,
    ],
    ['with a field twice', undefined, `${token}${token}${file}--b--\r\n`, 400, /token twice/],
    [
      'with a file without a name',
      undefined,
      `${token}${part('name="file"; filename=""', 'name')}--b--\r\n`,
      400,
      /no name/,
    ],
    ['with two files', undefined, `${token}${file}${file}--b--\r\n`, 413, /limit/],
    [
      'with a field named as a property of objects',
      undefined,
      `${token}${part('name="__proto__"', 'x')}${file}--b--\r\n`,
      400,
      /./,
    ],
  ])('4xx for a form %s, and keeps nothing of it', async (_what, type, body, status, reason) => {
    const headers = { 'content-type': type ?? 'multipart/form-data; boundary=b' };
    const target = `${service.baseUrl}/naics/naics/external/upload`;
    expectRefusal(await send(target, { method: 'POST', body, headers }), status, reason);
    await expect.poll(() => readdir(path.join(dataDir, 'uploads'))).toEqual([]);
  });

  it('401 before a large upload is read', async () => {
    const large = uploadCsv(100_000);
    expectRefusal(await upload(service.baseUrl, large, { token: 'x' }), 401, /token/);
  });

  it('413 for a file that is too large, and keeps nothing of it', async () => {
    const largest = `name\n${'x'.repeat(MAX_UPLOAD_BYTES - 6)}\n`;
    expect((await upload(service.baseUrl, largest)).status).toBe(200);
    expectRefusal(await upload(service.baseUrl, uploadCsv(10_000)), 413, /100000 bytes/);
    await expect.poll(() => readdir(path.join(dataDir, 'uploads'))).toEqual([]);
  });
});

describe('the limit of open folios', () => {
  it('answers 429 with Retry-After while all slots are taken', async () => {
    await withService({ recordsPerSecond: 1, maxOpen: 1 }, async ({ baseUrl: url }) => {
      await acceptedFolio(url, uploadCsv(30));
      const reply = await upload(url, uploadCsv(1));
      expectRefusal(reply, 429, /open/);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(20);
    });
  });

  it('frees the slot of a refused upload', async () => {
    await withService({ maxOpen: 1 }, async ({ baseUrl: url }) => {
      expect((await upload(url, 'id\n1\n')).status).toBe(400);
      expect((await upload(url, uploadCsv(1))).status).toBe(200);
    });
  });

  it('drops an upload whose connection breaks, and frees its slot', async () => {
    await withService({ maxOpen: 1 }, async ({ baseUrl: url }, dataDir) => {
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
});

describe('uploads at once', () => {
  it('accepts many uploads at once without mixing them up', async () => {
    await withService({ segmentRecords: 1000 }, async ({ baseUrl: url }) => {
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
});
