/** The fake service answers as service-interface.md says, and misbehaves only where it is told to. */
import { afterEach, expect, it } from 'vitest';
import type { Behaviour } from './behaviour.js';
import { type FakeService, openFakeService } from './fake-service.js';

const BULK = '/naics/naics/external/upload';
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}[+-]\d{2}:\d{2}$/;
const CSV = 'name,address,state\nAnna,1 Elm St,MT\nFailing Co,2 Elm St,MT\n"B, C",3 Elm St,WY\n';

let service: FakeService;
afterEach(() => service.close());

async function open(behaviour: Behaviour = {}): Promise<void> {
  service = await openFakeService(behaviour);
}

// biome-ignore lint/suspicious/noExplicitAny: the test checks the members of the reply one by one
async function ask(path: string, init?: RequestInit): Promise<{ status: number; body: any }> {
  const response = await fetch(service.url + path, init);
  return { status: response.status, body: await response.json() };
}

function upload(token = service.token) {
  const form = new FormData();
  form.append('token', token);
  form.append('description', 'a note');
  form.append('file', new Blob([CSV]), 'night-1-1-00000000.csv');
  return ask(BULK, { method: 'POST', body: form });
}

const query = (values: Record<string, string>) => new URLSearchParams({ token: service.token, ...values });
const track = (folio: string) => ask(`${BULK}/file/info?${query({ folio })}`);
const download = (folio: string, part: string, fileStatus: string) =>
  ask(`${BULK}/file/download?${query({ folio, part, fileStatus })}`);

/** Uploads the file and polls until it is FINISHED. */
async function finish(): Promise<string> {
  const { folio } = (await upload()).body.response;
  await track(folio);
  await track(folio);
  return folio;
}

it('accepts an upload and gives its folio (4.1)', async () => {
  await open();
  const { status, body } = await upload();
  expect(status).toBe(200);
  expect(body).toEqual({
    message: expect.any(String),
    response: {
      folio: expect.stringMatching(/^[A-Za-z0-9]+$/),
      fileName: 'night-1-1-00000000.csv',
      dateUpload: expect.stringMatching(TIME),
      status: 'PROCESSING',
      totalRecords: 3,
    },
  });
});

it('reports PROCESSING, then FINISHED with its parts (4.2)', async () => {
  await open({ partRecords: 1 });
  const { folio } = (await upload()).body.response;
  const first = (await track(folio)).body.response;
  expect(first.progressInfo).toMatchObject({ status: 'PROCESSING', processedPercentage: 50 });
  expect(first.segmentation).toEqual([]);
  const { message, response } = (await track(folio)).body;
  expect(message).toEqual(expect.any(String));
  expect(response).toEqual({
    folio,
    filename: 'night-1-1-00000000.csv',
    description: 'a note',
    createdAt: expect.stringMatching(TIME),
    records: 3,
    progressInfo: {
      status: 'FINISHED',
      processedPercentage: 100,
      processedRecords: 3,
      successfulRecords: 2,
      failedRecords: 1,
    },
    segmentation: [
      { part: 0, range: '[1-1]', filename: expect.any(String) },
      { part: 1, range: '[2-2]', filename: expect.any(String) },
    ],
    failedInfo: { part: 0, range: '[1-1]', filename: expect.any(String) },
  });
});

it('gives the CSV of a part in base64 (4.3)', async () => {
  await open();
  const folio = await finish();
  const text = async (fileStatus: string) => {
    const { message, response } = (await download(folio, '0', fileStatus)).body;
    expect([message, response.filename]).toEqual([expect.any(String), expect.any(String)]);
    return Buffer.from(response.content, 'base64').toString();
  };
  const successful = await text('SUCCESSFUL');
  expect(successful).toMatch(
    /^name,address,state,naics_code,naics_title,confidence\nAnna,1 Elm St,MT,\d{6},/,
  );
  expect(successful).toContain('\n"B, C",3 Elm St,WY,');
  expect(await text('FAILED')).toMatch(/^name,address,state,reason\nFailing Co,2 Elm St,MT,"nothing fits/);
});

it('predicts a single record (4.4)', async () => {
  await open();
  const record = { token: service.token, name: 'Anna', address: '1 Elm St', state: 'MT' };
  const reply = await ask('/naics/naics/search/additional/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(record),
  });
  expect(reply).toMatchObject({ status: 200, body: { naics_code: expect.stringMatching(/^\d{6}$/) } });
  expect(service.count('search')).toBe(1);
});

it('refuses a wrong token, an unknown folio, and a part before FINISHED', async () => {
  await open();
  expect((await upload('wrong')).status).toBe(401);
  expect((await track('nobody')).status).toBe(404);
  const { folio } = (await upload()).body.response;
  expect((await download(folio, '0', 'SUCCESSFUL')).status).toBe(409);
  expect(service.folios).toHaveLength(1);
});

it('misbehaves only as told, and counts what it was asked', async () => {
  await open({
    trouble: ({ operation, nth }) =>
      operation === 'track' && nth === 1 ? { kind: 'answer', status: 503, body: '{}' } : undefined,
  });
  const { folio } = (await upload()).body.response;
  expect((await track(folio)).status).toBe(503);
  expect((await track(folio)).body.response.progressInfo.status).toBe('PROCESSING');
  expect([service.count('upload'), service.count('track'), service.mostOpen]).toEqual([1, 2, 1]);
  expect(service.acceptedByKey('name').get('Anna')).toBe(1);
});
