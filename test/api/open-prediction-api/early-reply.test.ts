/** A service that answers an upload before it has read all of it, as one that throttles or refuses may do. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { RefusedError } from '../../../src/errors.js';
import { errorOf, noSignal, openTestClient, type TestClient } from '../../helpers/api/test-client.js';

let server: Server;
let client: TestClient;
let sockets: Socket[];

afterEach(async () => {
  await client.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** @param onBody called when the beginning of a request has arrived. */
async function open(onBody: (socket: Socket) => void): Promise<void> {
  sockets = [];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      onBody(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = openTestClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const REFUSAL =
  'HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 24\r\n\r\n{"message":"too large!"}';
const PIECE = Buffer.alloc(64 * 1024, 'x');
const PIECES = 400;

/** @param before awaited before each piece behind the first ones. */
function upload(before: () => Promise<void>, onEnd?: () => void) {
  const content = async function* () {
    try {
      for (let at = 0; at < PIECES; at++) {
        if (at > 1) await before();
        yield PIECE;
      }
    } finally {
      onEnd?.();
    }
  };
  const file = { name: 'nightly-1-1.csv', bytes: PIECES * PIECE.length, open: content };
  return client.upload({ file, description: '' }, noSignal);
}

test('a refusal that comes before all is read counts, although the connection is reset', async () => {
  await open(() => undefined);
  const reset = async () => {
    const [socket] = sockets;
    if (socket!.destroyed) return;
    await new Promise<void>((resolve) => socket!.write(REFUSAL, () => resolve()));
    socket!.resetAndDestroy();
  };
  const error = await errorOf(upload(reset));
  expect(error).toBeInstanceOf(RefusedError);
  expect(error).toMatchObject({ code: 'FILE_TOO_LARGE' });
});

test('the rest is not written to a service that has refused, and the content is closed', async () => {
  let isClosed = false;
  await open((socket) => {
    socket.write(REFUSAL);
  });
  const error = await errorOf(
    upload(
      async () => undefined,
      () => {
        isClosed = true;
      },
    ),
  );
  expect(error).toMatchObject({ code: 'FILE_TOO_LARGE' });
  await expect.poll(() => isClosed).toBe(true);
  await expect.poll(() => sockets[0]!.resume().readableEnded || sockets[0]!.destroyed).toBe(true);
  expect(sockets[0]!.bytesRead).toBeLessThan(PIECES * PIECE.length);
});

test('a redirect ends the connection, whatever comes behind its headers', async () => {
  await open((socket) => {
    socket.write('HTTP/1.1 302 Found\r\nlocation: /login\r\ncontent-length: 100\r\n\r\n');
  });
  const error = await errorOf(upload(async () => undefined));
  expect(error).toMatchObject({ code: 'SERVICE_REDIRECTS' });
  await expect.poll(() => sockets[0]!.resume().readableEnded || sockets[0]!.destroyed).toBe(true);
});
