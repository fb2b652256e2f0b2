/** One poll: tried again freely, whatever comes; lost only when that is said often. */
import { expect, test } from 'vitest';
import {
  BrokenReplyError,
  FolioLostError,
  OutageError,
  RefusedError,
  TroubleError,
} from '../../../src/errors.js';
import { cut, type Script, sendJson } from '../../fake-service/scripted-server.js';
import { useScriptedClient } from '../../helpers/api/scripted-client.js';
import { errorOf, noSignal, TOKEN } from '../../helpers/api/test-client.js';

const PROGRESS = { status: 'PROCESSING', processedPercentage: 40, processedRecords: 4 };
const REPLY = { response: { progressInfo: PROGRESS, segmentation: [] }, message: 'wait' };

const scripted = useScriptedClient();
const { open } = scripted;

const track = () => scripted.client.track('F 1&part=2', noSignal);

test('sends folio and token in the query', async () => {
  await open((response) => sendJson(response, REPLY));
  expect(await track()).toMatchObject({ status: 'PROCESSING', percentage: 40, processed: 4, counts: null });
  const [request] = scripted.server.seen;
  expect(request).toMatchObject({ method: 'GET', path: '/naics/naics/external/upload/file/info' });
  expect(Object.fromEntries(request!.query)).toEqual({ folio: 'F 1&part=2', token: TOKEN });
  expect(request!.headers.token).toBeUndefined();
});

test('or with the token in a header', async () => {
  await open((response) => sendJson(response, REPLY), { tokenIn: 'header' });
  await track();
  expect(scripted.server.seen[0]!.headers.token).toBe(TOKEN);
  expect(scripted.server.seen[0]!.query.has('token')).toBe(false);
});

test('polls share one connection', async () => {
  await open((response) => sendJson(response, REPLY));
  for (let poll = 0; poll < 6; poll += 1) {
    await track();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(new Set(scripted.server.seen.map(({ port }) => port)).size).toBeLessThan(3);
});

test('tells when it is sent: after the limiter has let it start', async () => {
  const events: string[] = [];
  const wait = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    events.push('may start');
  };
  await open((response) => sendJson(response, REPLY), { limiter: { wait, pause: () => undefined } });
  await scripted.client.track('F', noSignal, undefined, () => events.push('sent'));
  expect(events).toEqual(['may start', 'sent']);
});

test('the status is made fit to be shown', async () => {
  const status = `\u001b[2JWAIT\n${TOKEN}${'!'.repeat(300)}`;
  await open((response) => sendJson(response, { response: { progressInfo: { status } } }));
  const report = await track();
  expect(report.status).toMatch(/^\[2JWAIT \[token\]!+…$/);
  expect(report.status).toHaveLength(200);
});

test('a byte order mark and white space before the JSON are skipped', async () => {
  await open((response) => response.end(`\ufeff \r\n${JSON.stringify(REPLY)}\n`));
  expect((await track()).status).toBe('PROCESSING');
});

const passing: [string, Script][] = [
  ['cut without a reply', (response) => cut(response)],
  ['HTTP 500', (response) => sendJson(response, { message: 'oops' }, 500)],
  ['HTTP 503 with a page', (response) => response.writeHead(503).end('<html>maintenance</html>')],
  ['HTTP 429 at once', (response) => response.writeHead(429, { 'retry-after': '0' }).end()],
  ['HTTP 404 once', (response) => sendJson(response, { message: 'unknown folio' }, 404)],
  ['a success that is HTML', (response) => response.end('<html>login</html>')],
  ['an empty success', (response) => response.end()],
  ['another shape', (response) => sendJson(response, { response: {} })],
  ['UTF-8 that is none', (response) => response.end(Buffer.from([0x7b, 0xff, 0x7d]))],
  [
    'a body cut in the middle',
    (response) => {
      response.writeHead(200, { 'content-length': 500 });
      response.write('{"response":', () => cut(response));
    },
  ],
  [
    'a chunked body cut in the middle',
    (response) => {
      response.write('{"response":', () => cut(response));
    },
  ],
  ['a silent service', () => undefined],
  ['a service that falls silent', (response) => response.write('{')],
];

test.each(passing)('%s is passing trouble', async (_name, answer) => {
  await open(
    (response, request, nth) => (nth === 1 ? answer(response, request, nth) : sendJson(response, REPLY)),
    {
      timeouts: { connect: 1000, idle: 100, upload: 1000, shutdown: 0 },
    },
  );
  expect((await track()).status).toBe('PROCESSING');
  expect(scripted.server.seen).toHaveLength(2);
});

test("a folio that remains unknown is lost, with the service's message", async () => {
  await open((response) => sendJson(response, { message: 'no such document' }, 404));
  const error = await errorOf(track());
  expect(error).toBeInstanceOf(FolioLostError);
  expect((error as Error).message).toContain('HTTP 404: no such document');
  expect(scripted.server.seen.length).toBeGreaterThanOrEqual(6);
});

test.each([
  ['with a message', { message: 'gone' }, FolioLostError],
  ['with an empty response', { response: null }, FolioLostError],
  ['of another shape', { error: 'no route' }, OutageError],
  ['that is a list', [{ message: 'gone' }], OutageError],
  ['that is a text', 'gone', OutageError],
])('a 404 %s, asked for once', async (_, body, expected) => {
  await open((response) => sendJson(response, body, 404), {
    retry: { first: 1, max: 2, giveUpAfter: 30 },
    lostAfter: 60_000,
  });
  const error = await errorOf(scripted.client.track('F', noSignal, AbortSignal.abort()));
  expect(error).toBeInstanceOf(expected);
  if (expected === FolioLostError) expect(scripted.server.seen).toHaveLength(1);
});

test.each([404, 410])('HTTP %i of a proxy is an outage, however long', async (status) => {
  await open((response) => response.writeHead(status).end('<html>no such page</html>'), {
    retry: { first: 1, max: 2, giveUpAfter: 60 },
    lostAfter: 0,
  });
  expect(await errorOf(track())).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { status } });
});

test.each([401, 402, 403, 400, 302])('HTTP %i is final', async (status) => {
  await open((response) => response.writeHead(status, { location: '/login' }).end());
  expect(await errorOf(track())).toBeInstanceOf(RefusedError);
  expect(scripted.server.seen).toHaveLength(1);
});

test('a redirect names the address, and that the folios of the run are asked for there only', async () => {
  await open((response) => response.writeHead(301, { location: 'https://new.example/' }).end());
  const error = (await errorOf(track())) as RefusedError;
  expect(error).toMatchObject({ code: 'SERVICE_REDIRECTS', exitCode: 7 });
  expect(error.hint).toMatch(/ask its provider to answer here until this run is done.*service\.baseUrl/);
});

test('a reply that never follows the interface ends with exit 6 and says why', async () => {
  await open((response) => sendJson(response, { response: { progressInfo: { status: 7 } } }));
  const error = await errorOf(track());
  expect(error).toBeInstanceOf(BrokenReplyError);
  expect(error).toMatchObject({
    code: 'REPLY_BREAKS_INTERFACE',
    exitCode: 6,
    facts: { reason: 'MALFORMED_REPLY' },
  });
  expect((error as Error).message).toContain('response.progressInfo.status');
  expect(scripted.server.seen).toHaveLength(6);
});

test('a reply that never is of the service ends as an outage that says so', async () => {
  await open((response) => sendJson(response, { status: 'starting' }), {
    retry: { first: 1, max: 2, giveUpAfter: 40 },
  });
  const error = await errorOf(track());
  expect(error).toBeInstanceOf(TroubleError);
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { reason: 'MALFORMED_REPLY' } });
  expect((error as Error).message).toContain('response: ');
});

test('one 429 holds back every request until its Retry-After', async () => {
  const arrivals: number[] = [];
  await open((response, _request, nth) => {
    arrivals.push(performance.now());
    if (nth === 1) response.writeHead(429, { 'retry-after': '1' }).end();
    else sendJson(response, REPLY);
  });
  const first = scripted.client.track('a', noSignal);
  await expect.poll(() => scripted.client.log.length).toBeGreaterThan(0);
  await Promise.all([first, ...['b', 'c', 'd'].map((folio) => scripted.client.track(folio, noSignal))]);
  expect(scripted.server.seen.slice(1).map(({ query }) => query.get('folio'))).toHaveLength(4);
  for (const arrival of arrivals.slice(1)) expect(arrival - arrivals[0]!).toBeGreaterThan(990);
});

test('many calls at once cause no warning of Node', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  await open((response) => sendJson(response, REPLY));
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 30 }, (_, index) => scripted.client.track(`F${index}`, signal)));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

test('an abort ends a poll with its reason', async () => {
  const controller = new AbortController();
  await open(() => controller.abort(new Error('stop')));
  expect(await errorOf(scripted.client.track('F', controller.signal))).toBe(controller.signal.reason);
});
