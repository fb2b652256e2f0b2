/** Downloads: decoded while they arrive, fetched again until they are whole, limited in size. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { DownloadRequest } from '../../../src/api/prediction-api.js';
import { FolioLostError, type FoliopipeError, RefusedError, UntrustedError } from '../../../src/errors.js';
import { cut, type Script, sendJson } from '../../fake-service/scripted-server.js';
import { useScriptedClient } from '../../helpers/api/scripted-client.js';
import { errorOf, noSignal, TOKEN } from '../../helpers/api/test-client.js';
import { wholeContent } from '../../helpers/streams/collect.js';

const PART: DownloadRequest = { folio: 'F-1', part: 3, fileStatus: 'FAILED', maxBytes: 1_000_000 };
const CSV = Buffer.from('record_id,naics_code\n1,Ä722511\n');
const reply = (csv: Buffer) => ({
  message: 'ok',
  response: { filename: '../../x', content: csv.toString('base64') },
});

const scripted = useScriptedClient();
const { open } = scripted;

const download = (part = PART) => scripted.client.download(part, wholeContent, noSignal);

test('requests the part and passes on its decoded bytes', async () => {
  await open((response) => sendJson(response, reply(CSV)));
  expect(await download()).toEqual(CSV);
  const [request] = scripted.server.seen;
  expect(request).toMatchObject({ method: 'GET', path: '/naics/naics/external/upload/file/download' });
  expect(Object.fromEntries(request!.query)).toEqual({
    folio: 'F-1',
    part: '3',
    fileStatus: 'FAILED',
    token: TOKEN,
  });
});

test('a large part comes in pieces', async () => {
  const csv = randomBytes(12_000_000);
  const timeouts = { connect: 10_000, idle: 10_000, upload: 10_000, shutdown: 0 };
  await open((response) => sendJson(response, reply(csv)), { timeouts });
  let pieces = 0;
  const counted = (content: AsyncIterable<Buffer>) => {
    async function* count() {
      for await (const piece of content) {
        pieces += 1;
        yield piece;
      }
    }
    return wholeContent(count());
  };
  const got = await scripted.client.download({ ...PART, maxBytes: 12_000_000 }, counted, noSignal);
  expect(got.equals(csv)).toBe(true);
  expect(pieces).toBeGreaterThan(10);
});

test('an empty part is an empty file', async () => {
  await open((response) => sendJson(response, reply(Buffer.alloc(0))));
  expect(await download()).toHaveLength(0);
});

const text = JSON.stringify(reply(CSV));
const STALL = 'a stall in the middle';
const passing: [string, Script][] = [
  ['cut without a reply', (response) => cut(response)],
  ['HTTP 500', (response) => sendJson(response, { message: 'oops' }, 500)],
  ['a part that is listed early: 404', (response) => sendJson(response, { message: 'not yet' }, 404)],
  ['a part that is listed early: 409', (response) => sendJson(response, { message: 'not yet' }, 409)],
  [
    'a body shorter than its content-length',
    (response) => {
      response.writeHead(200, { 'content-length': text.length + 10 });
      response.write(text, () => cut(response));
    },
  ],
  [
    'a body cut in the content',
    (response) => {
      response.writeHead(200, { 'content-length': text.length });
      response.write(text.slice(0, 80), () => cut(response));
    },
  ],
  ['JSON cut at its end, the reply whole', (response) => response.end(text.slice(0, -1))],
  ['JSON with more behind it', (response) => response.end(`${text}}`)],
  ['no base64', (response) => sendJson(response, { response: { content: 'QUJD*UJD' } })],
  ['no content', (response) => sendJson(response, { response: { filename: 'x' } })],
  ['a page', (response) => response.end('<html>login</html>')],
  [STALL, (response) => response.write(text.slice(0, 80))],
];

test.each(passing)('%s: fetched again, from the start', async (name, answer) => {
  // Only a stall waits for a time-out. A busy machine may be slow with any other reply.
  const idle = name === STALL ? 1000 : 20_000;
  await open((response, request, nth) => (nth === 1 ? answer(response, request, nth) : response.end(text)), {
    timeouts: { connect: 20_000, idle, upload: 20_000, shutdown: 0 },
  });
  expect(await download()).toEqual(CSV);
  expect(scripted.server.seen).toHaveLength(2);
});

test("a consumer that hides the body's error, or throws another because of it, changes nothing", async () => {
  await open((response, _request, nth) => response.end(nth < 3 ? text.slice(0, -2) : text));
  let calls = 0;
  const hide = async (content: AsyncIterable<Buffer>) => {
    calls += 1;
    try {
      return await wholeContent(content);
    } catch {
      if (calls === 1) return Buffer.from('half');
      throw new Error('my file is not whole');
    }
  };
  expect(await scripted.client.download(PART, hide, noSignal)).toEqual(CSV);
  expect(calls).toBe(3);
});

test("the consumer's own error ends the call unchanged", async () => {
  await open((response) => response.end(text));
  const full = Object.assign(new Error('disk full'), { code: 'ENOSPC' });
  const fail = async (content: AsyncIterable<Buffer>) => {
    for await (const _piece of content) throw full;
  };
  expect(await errorOf(scripted.client.download(PART, fail, noSignal))).toBe(full);
  expect(scripted.server.seen).toHaveLength(1);
});

test('more bytes than allowed are not trusted', async () => {
  await open((response) => response.end(text));
  const error = await errorOf(download({ ...PART, maxBytes: CSV.length - 1 }));
  expect(error).toBeInstanceOf(UntrustedError);
  expect(error).toMatchObject({ code: 'PART_TOO_LARGE', exitCode: 6, facts: { folio: 'F-1', part: 3 } });
  expect(scripted.server.seen).toHaveLength(1);
  expect(await download({ ...PART, maxBytes: CSV.length })).toEqual(CSV);
});

test('a consumer may take longer than the service may be silent', async () => {
  const large = randomBytes(300_000);
  const timeouts = { connect: 1000, idle: 40, upload: 1000, shutdown: 0 };
  await open((response) => sendJson(response, reply(large)), { timeouts });
  const slowly = async (content: AsyncIterable<Buffer>): Promise<Buffer> => {
    const pieces: Buffer[] = [];
    for await (const piece of content) {
      pieces.push(Buffer.from(piece));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return Buffer.concat(pieces);
  };
  expect((await scripted.client.download(PART, slowly, noSignal)).equals(large)).toBe(true);
  expect(scripted.server.seen).toHaveLength(1);
});

test('a part that remains unknown is lost', async () => {
  await open((response) => sendJson(response, { message: 'expired' }, 410));
  expect(await errorOf(download())).toBeInstanceOf(FolioLostError);
  expect(scripted.server.seen.length).toBeGreaterThanOrEqual(6);
  const before = scripted.server.seen.length;
  const late = scripted.client.download(PART, wholeContent, noSignal, AbortSignal.abort());
  const facts = { folio: 'F-1', part: 3, fileStatus: 'FAILED' };
  expect(await errorOf(late)).toMatchObject({ code: 'FOLIO_LOST', facts });
  expect(scripted.server.seen).toHaveLength(before + 1);
});

test('HTTP 403 is final', async () => {
  await open((response) => sendJson(response, {}, 403));
  expect(await errorOf(download())).toBeInstanceOf(RefusedError);
  expect(scripted.server.seen).toHaveLength(1);
});

test('an abort in the middle of a part ends with its reason', async () => {
  const controller = new AbortController();
  const long = JSON.stringify(reply(randomBytes(3_000_000)));
  await open((response) => response.write(long.slice(0, -80)));
  const reason = new Error('stop');
  const stop = async (content: AsyncIterable<Buffer>) => {
    for await (const _piece of content) controller.abort(reason);
  };
  expect(
    await errorOf(scripted.client.download({ ...PART, maxBytes: 5_000_000 }, stop, controller.signal)),
  ).toBe(reason);
});

test.each([
  [404, true],
  [409, true],
  [500, true],
  [503, false],
])(
  'a part that stays HTTP %i after an outage: the hint names its folio and abandon: %s',
  async (status, names) => {
    await open((response) => response.writeHead(status).end('<html>no</html>'), {
      retry: { first: 1, max: 2, giveUpAfter: 30 },
    });
    const error = (await errorOf(download())) as FoliopipeError;
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { status } });
    expect(/folio F-1 cannot be fetched later either, .*: foliopipe abandon/s.test(error.hint!)).toBe(names);
  },
);
