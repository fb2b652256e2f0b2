/** Replies that a service or a proxy has compressed, although nobody has asked for it. */

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { cut, type Script } from '../../fake-service/scripted-server.js';
import { useScriptedClient } from '../../helpers/api/scripted-client.js';
import { errorOf, noSignal, uploadFile } from '../../helpers/api/test-client.js';

const file = uploadFile('nightly-1-1.csv', 'record_id,name\n1,a\n2,b\n');
const ACCEPTED = { response: { folio: 'F-1', totalRecords: 2, status: 'PROCESSING' }, message: 'read' };
const CSV = Buffer.from('record_id,naics_code\n1,722511\n');
const PART = { response: { content: CSV.toString('base64'), filename: 'x' }, message: 'ok' };

const scripted = useScriptedClient();
const { open } = scripted;

const upload = () => scripted.client.upload({ file, description: 'run' }, noSignal);

async function collect(content: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

const download = (maxBytes = 1_000) =>
  scripted.client.download({ folio: 'F-1', part: 0, fileStatus: 'SUCCESSFUL', maxBytes }, collect, noSignal);

test.each([
  ['gzip', gzipSync],
  ['X-GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const)('the reply to an upload, and a part, are read: %s', async (coding, compress) => {
  await open((response, { path }) => {
    const text = JSON.stringify(path.endsWith('/download') ? PART : ACCEPTED);
    response.writeHead(200, { 'content-encoding': coding }).end(compress(text));
  });
  expect(await upload()).toMatchObject({ folio: 'F-1', totalRecords: 2 });
  expect(await download()).toBe(CSV.toString());
  expect(scripted.server.seen).toHaveLength(2);
  expect(scripted.server.seen[0]!.headers['accept-encoding']).toBe('identity');
});

test('a large part is what it was before it was compressed', async () => {
  const csv = randomBytes(3_000_000).toString('hex');
  const content = Buffer.from(csv).toString('base64');
  const body = gzipSync(JSON.stringify({ response: { content } }));
  await open((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body));
  expect((await download(csv.length)) === csv).toBe(true);
});

test('what is not coded as it says makes an upload ambiguous, and is fetched again', async () => {
  await open((response, { path }, nth) => {
    const isFirst = nth <= 2;
    const text = JSON.stringify(path.endsWith('/download') ? PART : ACCEPTED);
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(isFirst ? text : gzipSync(text));
  });
  expect(await errorOf(upload())).toMatchObject({
    doubt: 'unreadable',
    message: expect.stringContaining('the reply claims to be gzip, but is not, or is cut'),
  });
  expect(await download()).toBe(CSV.toString());
  expect(scripted.server.seen).toHaveLength(3);
});

test('a compressed reply that is cut is fetched again', async () => {
  const whole = gzipSync(JSON.stringify(PART));
  const answers: Script[] = [
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(whole.subarray(0, -12)),
    (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': whole.length });
      response.write(whole.subarray(0, 20), () => cut(response));
    },
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(whole),
  ];
  await open((response, request, nth) => answers[nth - 1]!(response, request, nth));
  expect(await download()).toBe(CSV.toString());
  expect(scripted.server.seen).toHaveLength(3);
});

test('a small reply that becomes huge is refused', async () => {
  const content = Buffer.alloc(6_000_000).toString('base64');
  const bomb = gzipSync(JSON.stringify({ response: { content } }));
  await open((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
  expect(await errorOf(download())).toMatchObject({ exitCode: 6 });
});

test('a compressed reply without content that does not end is given up', async () => {
  const begin = Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
  // Stored blocks (RFC 1951, 3.2.4) without a byte.
  const nothing = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.of(0, 0, 0, 0xff, 0xff)));
  await open(async (response, { path }, nth) => {
    if (path.endsWith('/download') && nth > 2) return void response.end(JSON.stringify(PART));
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(begin);
    while (!response.destroyed) {
      response.write(nothing);
      await sleep(1);
    }
  });
  expect(await errorOf(upload())).toMatchObject({
    doubt: 'unreadable',
    message: expect.stringContaining('the reply, in gzip, does not end'),
  });
  expect(await download()).toBe(CSV.toString());
});

test('a compressed refusal says what it says', async () => {
  const refusal = gzipSync(JSON.stringify({ message: 'token expired' }));
  await open((response) => response.writeHead(401, { 'content-encoding': 'gzip' }).end(refusal));
  expect(await errorOf(upload())).toMatchObject({
    code: 'TOKEN_REFUSED',
    message: expect.stringContaining('token expired'),
  });
});

test('an empty refusal that says it is compressed is a refusal', async () => {
  await open((response) => response.writeHead(401, { 'content-encoding': 'gzip' }).end());
  expect(await errorOf(upload())).toMatchObject({ code: 'TOKEN_REFUSED' });
});
