/** A service that never falls silent and yet never ends. */
import type http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AmbiguousUploadError, OutageError } from '../../../src/errors.js';
import { type Script, sendJson } from '../../fake-service/scripted-server.js';
import { useScriptedClient } from '../../helpers/api/scripted-client.js';
import { errorOf, noSignal, uploadFile } from '../../helpers/api/test-client.js';

const REPORT = { response: { progressInfo: { status: 'PROCESSING' }, segmentation: [] }, message: 'wait' };
const part = (bytes: Buffer) => ({
  response: { content: bytes.toString('base64'), filename: 'x' },
  message: '',
});
const timeouts = { connect: 1000, idle: 250, upload: 1500, shutdown: 0 };

const scripted = useScriptedClient();
const open = (answer: Script, giveUpAfter = 5000) =>
  scripted.open(answer, { timeouts, retry: { first: 1, max: 5, giveUpAfter } });

const track = () => scripted.client.track('F-1', noSignal);
const upload = () =>
  scripted.client.upload({ file: uploadFile('a.csv', 'a\n1\n'), description: '' }, noSignal);
const download = async (consume: (content: AsyncIterable<Buffer>) => Promise<number>) =>
  scripted.client.download(
    { folio: 'F-1', part: 0, fileStatus: 'SUCCESSFUL', maxBytes: 10_000_000 },
    consume,
    noSignal,
  );
const size = async (content: AsyncIterable<Buffer>) => {
  let bytes = 0;
  for await (const piece of content) bytes += piece.length;
  return bytes;
};

/** Sends a text in small pieces, until the client goes away. */
async function drip(response: { write(text: string): boolean; destroyed: boolean }, text: string, bytes = 1) {
  for (let at = 0; at < text.length && !response.destroyed; at += bytes) {
    response.write(text.slice(at, at + bytes));
    await sleep(10);
  }
}

/** Sends a text at a rate, however late this process's timers are. */
async function dripAt(bytesPerMs: number, response: http.ServerResponse, text: string) {
  const begin = performance.now();
  for (let sent = 0; sent < text.length && !response.destroyed; ) {
    const due = Math.max(sent + 1, Math.ceil((performance.now() - begin) * bytesPerMs));
    response.write(text.slice(sent, due));
    sent = due;
    await sleep(10);
  }
}

const dripJson = async (response: http.ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  await drip(response, JSON.stringify(value).padEnd(10_000));
  response.end();
};

const dripping: [string, Script][] = [
  ['a reply', (response) => void dripJson(response, REPORT)],
  ['the reply to a throttled request', (response) => void dripJson(response, { message: 'wait' }, 429)],
  [
    'a header',
    ({ socket }) => {
      socket!.write('HTTP/1.1 200 OK\r\nx-header: ');
      void drip(socket!, 'x'.repeat(10_000));
    },
  ],
  [
    'informational replies',
    async (response) => {
      while (!response.destroyed) {
        response.writeProcessing();
        await sleep(10);
      }
    },
  ],
];

test.each(dripping)('a poll: %s that drips is passing trouble', async (_, answer) => {
  await open((response, request, nth) =>
    nth === 1 ? answer(response, request, nth) : sendJson(response, REPORT),
  );
  expect((await track()).status).toBe('PROCESSING');
  expect(scripted.server.seen).toHaveLength(2);
});

test('a poll whose replies always drip ends as an outage that says so', async () => {
  await open((response) => void dripJson(response, REPORT), 100);
  const error = await errorOf(track());
  expect(error).toBeInstanceOf(OutageError);
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { reason: 'REPLY_TOO_SLOW' } });
  expect((error as Error).message).toMatch(/the reply is too slow: \d+ ?B in \d+m?s \(REPLY_TOO_SLOW\)/);
});

test('a small reply may be as slow as it likes if it is whole within the time of silence', async () => {
  await open((response) => void drip(response, JSON.stringify(REPORT), 40).then(() => response.end()));
  expect((await track()).status).toBe('PROCESSING');
  expect(scripted.server.seen).toHaveLength(1);
});

test('a download that begins at full speed and then drips is fetched again', async () => {
  const content = Buffer.alloc(300_000, 'x');
  await open((response, _request, nth) => {
    const text = JSON.stringify(part(content));
    if (nth > 1) return sendJson(response, part(content));
    response.write(text.slice(0, 200_000));
    void drip(response, text.slice(200_000));
  });
  expect(await download(size)).toBe(content.length);
  expect(scripted.server.seen).toHaveLength(2);
});

test('a download at the least rate is read to its end, however long it takes', async () => {
  const content = Buffer.alloc(40_000, 'x');
  await open((response) => {
    void dripAt(100, response, JSON.stringify(part(content))).then(() => response.end());
  });
  expect(await download(size)).toBe(content.length);
  expect(scripted.server.seen).toHaveLength(1);
});

test('the time of our own disk is not the time of the service', async () => {
  const content = Buffer.alloc(4_000_000, 'x');
  await open((response) => sendJson(response, part(content)));
  const slowly = async (pieces: AsyncIterable<Buffer>) => {
    let bytes = 0;
    for await (const piece of pieces) {
      await sleep(2 * timeouts.idle);
      bytes += piece.length;
    }
    return bytes;
  };
  expect(await download(slowly)).toBe(content.length);
  expect(scripted.server.seen).toHaveLength(1);
});

const receipt = { response: { folio: 'F-1', totalRecords: 1 }, message: '' };

test('the refusal of an upload is known by its status: a body that drips makes nothing ambiguous', async () => {
  await open((response, _request, nth) =>
    nth === 1 ? void dripJson(response, { message: 'busy' }, 503) : sendJson(response, receipt),
  );
  expect(await upload()).toMatchObject({ folio: 'F-1' });
  expect(scripted.server.seen).toHaveLength(2);
});

test('the receipt of an upload may drip until the end of its own time: it is paid for', async () => {
  const text = JSON.stringify(receipt);
  await open((response) => void drip(response, text, 2).then(() => response.end()));
  expect(await upload()).toMatchObject({ folio: 'F-1' });
  expect(scripted.server.seen).toHaveLength(1);
});

test('after that it is ambiguous and not sent again', async () => {
  await open((response) => void dripJson(response, receipt));
  const error = await errorOf(upload());
  expect(error).toBeInstanceOf(AmbiguousUploadError);
  expect(error).toMatchObject({ doubt: 'no-reply', facts: { reason: 'TIMEOUT' } });
  expect(scripted.server.seen).toHaveLength(1);
});
