/** TLS and proxies: which trouble is a matter of the config, and which passes and is tried again. */
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { misconfiguredError } from '../../src/api/final-error.js';
import { createProxyChoice } from '../../src/api/http-client.js';
import type { ApiOptions } from '../../src/api/open-prediction-api.js';
import { ConfigError, TroubleError } from '../../src/errors.js';
import { errorOf, noSignal, openTestClient, uploadFile } from '../helpers/api/test-client.js';

const GIVE_UP_SOON = { first: 10, max: 20, giveUpAfter: 150 };

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closers.splice(0).reverse()) await close();
});

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

async function listen(server: net.Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function open(url: string, changes: Partial<ApiOptions> = {}) {
  const client = openTestClient(url, { retry: GIVE_UP_SOON, ...changes });
  closers.push(() => client.close());
  return client;
}

/** Treats every CONNECT as the test says. */
async function openProxy(onConnect: (target: string, socket: Duplex) => void): Promise<string> {
  const proxy = http.createServer((_request, response) => response.writeHead(405).end());
  proxy.on('connect', (request, socket) => {
    socket.on('error', () => undefined);
    onConnect(request.url ?? '', socket);
  });
  return `http://127.0.0.1:${await listen(proxy)}`;
}

test('a certificate that does not verify is a config error, and is not retried for hours', async () => {
  const port = await listen(https.createServer(certificate, (_request, response) => response.end()));
  const error = await errorOf(open(`https://localhost:${port}`).track('F', noSignal));
  expect(error).toBeInstanceOf(ConfigError);
  expect(error).toMatchObject({
    code: 'CONFIG_CERTIFICATE',
    hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    facts: { reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  });
});

test('of a certificate for another time the clock is in the hint, and no other authority', async () => {
  for (const code of ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']) {
    const { hint } = misconfiguredError({ kind: 'misconfigured', code, message: 'what' }, { reason: code });
    expect(hint).toMatch(/clock of this machine right \(date\).*new certificate.*run the same command again/);
    expect(hint).not.toContain('NODE_EXTRA_CA_CERTS');
  }
});

test('requests that wait for their connection reach the service no faster than the rate', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  const arrived: number[] = [];
  const service = https.createServer(certificate, (_request, response) => {
    arrived.push(performance.now());
    response.writeHead(400).end();
  });
  const port = await listen(service);
  const farAway = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => undefined);
    setTimeout(() => near.pipe(far).pipe(near), 500);
  });
  const client = open(`https://127.0.0.1:${await listen(farAway)}`, { requestsPerSecond: 5 });
  await Promise.all(Array.from({ length: 6 }, () => errorOf(client.track('F', noSignal))));
  // The last one has a connection when it starts. A second after the others' start is half a second after they came.
  expect(arrived).toHaveLength(6);
  expect(arrived[5]! - arrived[0]!).toBeGreaterThan(750);
});

test('a service without TLS gets nothing, so the search is tried again', async () => {
  const port = await listen(net.createServer((socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')));
  const error = await errorOf(open(`https://127.0.0.1:${port}`).search({ name: 'x' }, noSignal));
  expect(error).toBeInstanceOf(TroubleError);
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
});

test('a TLS handshake that takes too long is given up and tried again', async () => {
  let connections = 0;
  const port = await listen(net.createServer(() => (connections += 1)));
  const client = open(`https://127.0.0.1:${port}`, {
    timeouts: { connect: 50, idle: 1000, upload: 1000, shutdown: 0 },
  });
  const error = await errorOf(client.search({ name: 'x' }, noSignal));
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { reason: 'CONNECT_TIMEOUT' } });
  expect(connections).toBeGreaterThan(1);
});

test('https goes through the proxy by CONNECT; its certificate is checked behind it', async () => {
  const port = await listen(https.createServer(certificate, (_request, response) => response.end()));
  const targets: string[] = [];
  const proxy = await openProxy((target, socket) => {
    targets.push(target);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const behind = net.connect(port, '127.0.0.1').on('error', () => undefined);
    socket.pipe(behind).pipe(socket);
  });
  const client = open('https://service.example', { proxies: { httpsProxy: proxy.slice('http://'.length) } });
  expect(await errorOf(client.track('F', noSignal))).toMatchObject({ code: 'CONFIG_CERTIFICATE' });
  expect(targets).toEqual(['service.example:443']);
});

test.each<[string, string, (socket: Duplex) => void]>([
  ['cuts', 'ECONNRESET', (socket) => socket.destroy()],
  ['refuses', 'PROXY_FAILED', (socket) => socket.end('HTTP/1.1 502 Bad gateway\r\n\r\n')],
  ['is silent', 'CONNECT_TIMEOUT', () => undefined],
])('a proxy that %s is tried again with back-off: nothing was sent', async (_name, reason, treat) => {
  let connects = 0;
  const httpsProxy = await openProxy((_target, socket) => {
    connects += 1;
    treat(socket);
  });
  const connect = reason === 'CONNECT_TIMEOUT' ? 50 : 30_000;
  const client = open('https://service.example', {
    proxies: { httpsProxy },
    timeouts: { connect, idle: 1000, upload: 1000, shutdown: 0 },
  });
  const error = await errorOf(client.search({ name: 'x' }, noSignal));
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { reason } });
  expect(connects).toBeGreaterThan(1);
  expect(connects).toBeLessThan(20);
});

test('a proxy that does not know the user says so at once, and how to give another one', async () => {
  let connects = 0;
  const httpsProxy = await openProxy((_target, socket) => {
    connects += 1;
    socket.end('HTTP/1.1 407 Who are you\r\n\r\n');
  });
  const client = open('https://service.example', { proxies: { httpsProxy } });
  for (const ask of [client.track('F', noSignal), client.search({ name: 'x' }, noSignal)]) {
    expect(await errorOf(ask)).toMatchObject({
      code: 'CONFIG_PROXY',
      exitCode: 2,
      message: expect.stringContaining(
        'the proxy answers 407, so it does not know the user and password in HTTPS_PROXY',
      ),
      hint: expect.stringContaining('http://user:password@host:port'),
    });
  }
  // A wrong password that is tried again and again locks its user out.
  expect(connects).toBe(2);
});

test('a proxy without TLS, or with a certificate that does not verify, is told from the service', async () => {
  const ask = async (port: number) => {
    const proxies = { httpsProxy: `https://localhost:${port}` };
    return (await errorOf(open('https://service.example', { proxies }).track('F', noSignal))) as Error;
  };
  const plain = await listen(net.createServer((socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')));
  expect((await ask(plain)).message).toContain('the proxy: no TLS is spoken there');
  const unknown = await listen(https.createServer(certificate, (_request, response) => response.end()));
  const error = await ask(unknown);
  expect(error).toMatchObject({ code: 'CONFIG_CERTIFICATE' });
  expect(error.message).toContain("the proxy's certificate does not verify");
});

test.runIf(hasIPv6)('a proxy may have an IPv6 address', async () => {
  let connects = 0;
  const proxy = http.createServer().on('connect', (_request, socket) => {
    connects += 1;
    socket.end('HTTP/1.1 502 Bad\r\n\r\n');
  });
  const httpsProxy = `http://[::1]:${await listen(proxy, '::1')}`;
  await errorOf(open('https://service.example', { proxies: { httpsProxy } }).track('F', noSignal));
  expect(connects).toBeGreaterThan(0);
});

test('a proxy gets the user and password of its address', async () => {
  let authorization: string | undefined;
  const proxy = http.createServer().on('connect', (request, socket) => {
    authorization = request.headers['proxy-authorization'];
    socket.end('HTTP/1.1 407 Who are you\r\n\r\n');
  });
  const httpsProxy = `http://me:s3c%20ret@127.0.0.1:${await listen(proxy)}`;
  const error = await errorOf(
    open('https://service.example', { proxies: { httpsProxy } }).track('F', noSignal),
  );
  expect(Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString()).toBe('me:s3c ret');
  expect(`${JSON.stringify(error)} ${error}`).not.toContain('s3c');
});

test('an abort does not wait for a proxy that is silent, and sends nothing', async () => {
  const controller = new AbortController();
  const httpsProxy = await openProxy(() => controller.abort(new Error('stop')));
  const client = open('https://service.example', {
    proxies: { httpsProxy },
    timeouts: { connect: 3_600_000, idle: 1000, upload: 3_600_000, shutdown: 0 },
  });
  expect(await errorOf(client.search({ name: 'x' }, controller.signal))).toBe(controller.signal.reason);
});

test('an upload that waits for its connection when the call is aborted ends at once, and is not sent later', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  let arrived = 0;
  const port = await listen(https.createServer(certificate, () => (arrived += 1)));
  const controller = new AbortController();
  let connected = false;
  const farAway = net.createServer((near) => {
    controller.abort(new Error('stop'));
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => undefined);
    setTimeout(() => {
      connected = true;
      near.pipe(far).pipe(near);
    }, 300);
  });
  const client = open(`https://127.0.0.1:${await listen(farAway)}`, {
    timeouts: { connect: 5000, idle: 1000, upload: 5000, shutdown: 5000 },
  });
  const upload = { file: uploadFile('a.csv', 'a\n1\n'), description: '' };
  expect(await errorOf(client.upload(upload, controller.signal))).toBe(controller.signal.reason);
  expect(connected).toBe(false);
  await expect.poll(() => connected).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(arrived).toBe(0);
});

test('this machine is never reached through a proxy', async () => {
  let connects = 0;
  const proxy = await openProxy(() => (connects += 1));
  const port = await listen(http.createServer((_request, response) => response.end('{"ok":true}')));
  const client = open(`http://127.0.0.1:${port}`, { proxies: { httpProxy: proxy, httpsProxy: proxy } });
  expect(await client.search({ name: 'x' }, noSignal)).toEqual({ answer: { ok: true }, rehearsal: false });
  expect(connects).toBe(0);
});

test.each(['http://me:pass word@:99999', 'http://me:pass%zz@proxy:3128'])(
  "a proxy's address that is not valid is a config error that does not repeat it: %s",
  (httpsProxy) => {
    const proxies = { httpsProxy };
    expect(() => openTestClient('https://service.example', { proxies })).toThrow(ConfigError);
    expect(() => openTestClient('https://service.example', { proxies })).not.toThrow(/pass/);
  },
);

const chosen = (url: string, proxies: Parameters<typeof createProxyChoice>[0]) =>
  createProxyChoice(proxies)(new URL(url))?.href;

describe('the proxy of an https:// address', () => {
  it('is HTTPS_PROXY, otherwise HTTP_PROXY, otherwise none', () => {
    const httpsProxy = 'http://first:8080';
    const httpProxy = 'second:3128';
    expect(chosen('https://service.example', { httpsProxy, httpProxy })).toBe('http://first:8080/');
    expect(chosen('https://service.example', { httpProxy })).toBe('http://second:3128/');
    expect(chosen('https://service.example', { httpsProxy: '', httpProxy: '' })).toBeUndefined();
  });

  it.each([
    ['service.example', true],
    ['SERVICE.example', true],
    ['example', true],
    ['.example', true],
    ['*.service.example', true],
    ['other.example, service.example', true],
    ['other.example service.example', true],
    ['service.example:443', true],
    ['*', true],
    ['service.example:8443', false],
    ['vice.example', false],
    ['api.service.example', false],
    ['', false],
  ])('is none where NO_PROXY is "%s": %s', (noProxy, isExempt) => {
    const found = chosen('https://service.example/path', { httpsProxy: 'http://proxy:1', noProxy });
    expect(found === undefined).toBe(isExempt);
  });

  it('may be excluded for one port only', () => {
    const noProxy = 'service.example:8443';
    expect(chosen('https://service.example:8443', { httpsProxy: 'http://proxy:1', noProxy })).toBeUndefined();
  });

  it.each(['http://me:pass word@:99999', 'socks5://proxy:1080', 'http://'])(
    'is refused as %s',
    (httpsProxy) => {
      expect(() => createProxyChoice({ httpsProxy })).toThrow(ConfigError);
      expect(() => createProxyChoice({ httpsProxy })).not.toThrow(/pass/);
    },
  );
});

/** For localhost, signed by no authority, valid for 100 years. */
const certificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9GlL3Ifs5FQy6KsD
aWJKn9+5Q1O8I/A2+80IKxWstmehRANCAAQNzMtmzaPSYBa4GGeNQ5RUsFkZ0471
sam87aWmDTZCC/0kB+r59JPmr91Lx8LpgnuMab6pYMg6kRl3oZ94GSiC
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUXdNqt1eVTIpt+khcJyX0pgowe74wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAxMzY0N1oYDzIxMjYxMDI4
MDEzNjQ3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQNzMtmzaPSYBa4GGeNQ5RUsFkZ0471sam87aWmDTZCC/0kB+r59JPm
r91Lx8LpgnuMab6pYMg6kRl3oZ94GSiCo28wbTAdBgNVHQ4EFgQUFEEIgYWOBiLj
b5DM6osiXqQEhY8wHwYDVR0jBBgwFoAUFEEIgYWOBiLjb5DM6osiXqQEhY8wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAK6lYW56Tgjd9toWPF0pfZpuUxfoYSO3Ah5IZxXXknfFAiEA
+3gG3bq/o6Rhlgrf+Arbn4Nu5L9LLHqeXFKUdhhJGgA=
-----END CERTIFICATE-----`,
};
