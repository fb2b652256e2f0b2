/** The paid POST: what is sent, what is tried again, and what is ambiguous (rule "Paid requests are not retried blindly"). */
import { expect, test } from 'vitest';
import { AmbiguousUploadError, RefusedError, TroubleError } from '../../../src/errors.js';
import { cut, type Script, sendJson } from '../../fake-service/scripted-server.js';
import { useScriptedClient } from '../../helpers/api/scripted-client.js';
import { errorOf, noSignal, TOKEN, uploadFile } from '../../helpers/api/test-client.js';

const file = uploadFile('nightly-1-1.csv', 'record_id,name\n1,Ä\n2,b\n');
const ACCEPTED = { response: { folio: 'F-1', totalRecords: 2, status: 'PROCESSING' }, message: 'read' };

const scripted = useScriptedClient();
const { open } = scripted;

const upload = (signal: AbortSignal = noSignal, sent = file) =>
  scripted.client.upload({ file: sent, description: 'néw "run"' }, signal);

test('sends token and description before the file, on a path below the base', async () => {
  await open((response) => sendJson(response, ACCEPTED), {}, '/v1/');
  expect(await upload()).toEqual({ folio: 'F-1', totalRecords: 2, rehearsal: false });
  const [request] = scripted.server.seen;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/naics/naics/external/upload' });
  expect([...request!.query]).toEqual([]);
  const names = [...request!.body.matchAll(/form-data; name="(\w+)"/g)].map(([, name]) => name);
  expect(names).toEqual(['token', 'description', 'file']);
  expect(request!.body).toContain(`\r\n\r\n${TOKEN}\r\n`);
  expect(request!.body).toContain('\r\n\r\nnéw "run"\r\n');
  expect(request!.body).toContain('filename="nightly-1-1.csv"');
  expect(request!.body).toContain('\r\n\r\nrecord_id,name\n1,Ä\n2,b\n\r\n');
});

test('says when a local service answers', async () => {
  await open((response) => sendJson(response, ACCEPTED, 200, { 'foliopipe-service': 'local' }));
  expect((await upload()).rehearsal).toBe(true);
});

test('takes a number for a folio, and no total', async () => {
  await open((response) => sendJson(response, { response: { folio: 17 } }));
  expect(await upload()).toEqual({ folio: '17', totalRecords: null, rehearsal: false });
});

test.each([300, 10_000, 64 * 1024, 200_000])(
  'sends a content whose pieces of %i bytes follow each other in one memory',
  async (size) => {
    await open((response) => sendJson(response, ACCEPTED));
    const lines = Array.from({ length: 200_000 }, (_, at) => `${at},b\n`).join('');
    const whole = Buffer.from(lines);
    const content = {
      name: 'nightly-1-1.csv',
      bytes: whole.length,
      open: async function* () {
        const memory = Buffer.alloc(size);
        for (let at = 0; at < whole.length; at += size) {
          const length = whole.copy(memory, 0, at);
          yield memory.subarray(0, length);
          memory.fill('x');
        }
      },
    };
    await upload(noSignal, content);
    expect(scripted.server.seen[0]!.body.includes(`\r\n\r\n${lines}\r\n`)).toBe(true);
  },
);

test('uses a new connection each time', async () => {
  await open((response) => sendJson(response, ACCEPTED));
  await upload();
  await upload();
  expect(scripted.server.seen[0]!.port).not.toBe(scripted.server.seen[1]!.port);
  expect(scripted.server.seen[0]!.headers.connection).toBe('close');
});

test.each([429, 503, 408, 425])('HTTP %i was certainly not accepted and is tried again', async (status) => {
  await open((response, _request, nth) =>
    nth < 3 ? sendJson(response, { message: 'later' }, status) : sendJson(response, ACCEPTED),
  );
  expect((await upload()).folio).toBe('F-1');
  expect(scripted.server.seen).toHaveLength(3);
});

test('a service that is not there is tried again until the outage is too long', async () => {
  const retry = { first: 1, max: 5, giveUpAfter: 50 };
  await open((response) => sendJson(response, ACCEPTED), { retry });
  await scripted.server.close();
  const error = await errorOf(upload());
  expect(error).toBeInstanceOf(TroubleError);
  expect(error).not.toBeInstanceOf(AmbiguousUploadError);
  expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', facts: { reason: 'ECONNREFUSED' } });
});

test.each([
  [400, 'SERVICE_REFUSED'],
  [401, 'TOKEN_REFUSED'],
  [402, 'QUOTA_REFUSED'],
  [403, 'TOKEN_REFUSED'],
  [404, 'SERVICE_REFUSED'],
  [409, 'SERVICE_REFUSED'],
  [413, 'FILE_TOO_LARGE'],
  [422, 'SERVICE_REFUSED'],
])('HTTP %i is refused at once as %s, in the words of the service', async (status, code) => {
  await open((response) => sendJson(response, { message: 'column\u0007  name\nis missing' }, status));
  const error = await errorOf(upload());
  expect(error).toBeInstanceOf(RefusedError);
  expect(error).toMatchObject({ code, facts: { status, fileName: file.name } });
  expect((error as Error).message).toContain('column name is missing');
  expect(scripted.server.seen).toHaveLength(1);
});

test('only an upload has a file that is too large: no other 413 proposes smaller chunks in a new run', async () => {
  await open((response) => sendJson(response, { message: 'no' }, 413));
  const error = await errorOf(scripted.client.track('F', noSignal));
  expect(error).toMatchObject({ code: 'SERVICE_REFUSED', hint: expect.not.stringContaining('--new') });
});

test('a refusal that suggests a wrong address names the address, without query and token', async () => {
  await open((response) => sendJson(response, { message: 'no' }, 404), {}, '/v1/');
  const path = 'naics/naics/external/upload';
  expect(await errorOf(upload())).toMatchObject({
    code: 'SERVICE_REFUSED',
    message: `upload: POST ${scripted.server.url}/v1/${path} answers HTTP 404: no`,
    hint: 'is service.baseUrl right? foliopipe check tries the address without paying; nothing was paid for this request; once the cause is removed, run the same command again',
  });
  const at = `/${encodeURIComponent(TOKEN)}`;
  await open((response) => sendJson(response, { message: 'no' }, 405), { tokenIn: 'query' }, at);
  const { message, hint } = (await errorOf(scripted.client.track('F', noSignal))) as RefusedError;
  expect(message).toBe(`track: GET ${scripted.server.url}/[token]/${path}/file/info answers HTTP 405: no`);
  expect(hint).toMatch(
    /^is service\.baseUrl right\? what answers there takes no such request.*without paying$/,
  );
  expect(`${message}${hint}`).not.toContain('?folio');
});

test('501 to an upload, as of a web server for files, names the address and says that nothing was paid', async () => {
  await open((response) => response.writeHead(501).end("<html>Unsupported method ('POST')</html>"));
  expect(await errorOf(upload())).toMatchObject({
    code: 'SERVICE_REFUSED',
    message: expect.stringMatching(/^upload: POST http:\S+upload answers HTTP 501: Unsupported method/),
    hint: expect.stringMatching(/^is service\.baseUrl right\? .*web server for files.*nothing was paid/),
  });
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) may have been accepted and is never followed; only its origin is named',
  async (status) => {
    await open((response) => {
      response.writeHead(status, { location: 'https://elsewhere.example/x?secret=1' }).end();
    });
    const error = (await errorOf(upload())) as AmbiguousUploadError;
    expect(error).toBeInstanceOf(AmbiguousUploadError);
    expect(error).toMatchObject({ code: 'SERVICE_REDIRECTS', exitCode: 7, doubt: 'redirected' });
    expect(error.hint).toMatch(/ask its provider to answer here until this run is done.*service\.baseUrl/);
    expect(error.message).toContain('https://elsewhere.example');
    expect(error.message).not.toContain('secret');
    expect(scripted.server.seen).toHaveLength(1);
  },
);

const withoutReply: [string, Script][] = [
  ['cut without a reply', (response) => cut(response)],
  ['HTTP 500', (response) => sendJson(response, { message: 'oops' }, 500)],
  ['HTTP 502 with a page', (response) => response.writeHead(502).end('<html><h1>Bad gateway</h1></html>')],
  ['HTTP 504', (response) => response.writeHead(504).end()],
  [
    'a reply cut in its body',
    (response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{"response":{"folio":"F-1"', () => cut(response));
    },
  ],
  [
    'a reply cut in its body, its length not told',
    (response) => response.write('{"response":{"folio":"F-1"', () => cut(response)),
  ],
  [
    'a status that is none',
    (response) => response.socket?.end('HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n'),
  ],
  ['what is no HTTP', (response) => response.socket?.end('hello\r\n\r\n')],
];

const unreadable: [string, Script][] = [
  ['a success that is HTML', (response) => response.end('<html>welcome</html>')],
  ['a success without a body', (response) => response.writeHead(204).end()],
  ['a success without a folio', (response) => sendJson(response, { response: {}, message: 'ok' })],
  ['a folio with a space', (response) => sendJson(response, { response: { folio: 'a b' } })],
  ['JSON that ends too early', (response) => response.end('{"response":{"folio":"F-1"')],
  ['an empty success', (response) => response.writeHead(200).end()],
  [
    'another charset',
    (response) => response.end(Buffer.from('{"response":{"folio":"F-1"},"m":"ü"}', 'latin1')),
  ],
  [
    'a reply that is too large',
    (response) => {
      response.end(Buffer.alloc(9 * 1024 * 1024, 0x20));
    },
  ],
];

test.each([
  ...withoutReply.map(([name, answer]) => [name, 'no-reply', answer] as const),
  ...unreadable.map(([name, answer]) => [name, 'unreadable', answer] as const),
])('%s is ambiguous (%s) and not tried again', async (_name, doubt, answer) => {
  await open(answer);
  const error = await errorOf(upload());
  expect(error).toBeInstanceOf(AmbiguousUploadError);
  expect(error).toMatchObject({ code: 'AMBIGUOUS_UPLOAD', exitCode: 5, doubt });
  expect(scripted.server.seen).toHaveLength(1);
});

test('a reply that goes on in another protocol (101) is no reply, which is noticed at once', async () => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n';
  await open((response) => response.socket?.write(upgrade));
  expect(await errorOf(upload())).toMatchObject({
    code: 'AMBIGUOUS_UPLOAD',
    doubt: 'no-reply',
    message: expect.stringContaining('the connection was closed without a reply'),
  });
  expect(scripted.server.seen).toHaveLength(1);
});

test('an unreadable success is shown, as far as it can be shown safely', async () => {
  await open((response) => sendJson(response, { queued: true, why: 'a\u0007b', echo: TOKEN }));
  const { message } = (await errorOf(upload())) as Error;
  expect(message).toContain('response');
  expect(message).toContain('{"queued":true,"why":"a');
  expect(message).not.toContain(TOKEN.slice(0, 8));
});

test('an upload that waits for its reply is not cut by the idle time', async () => {
  await open((response) => setTimeout(() => sendJson(response, ACCEPTED), 150), {
    timeouts: { connect: 20_000, idle: 50, upload: 20_000, shutdown: 0 },
  });
  expect((await upload()).folio).toBe('F-1');
  expect(scripted.server.seen).toHaveLength(1);
});

test('an upload without a reply in time is ambiguous', async () => {
  await open(() => undefined, { timeouts: { connect: 20_000, idle: 20_000, upload: 1000, shutdown: 0 } });
  const error = await errorOf(upload());
  expect(error).toBeInstanceOf(AmbiguousUploadError);
  expect(error).toMatchObject({ facts: { reason: 'TIMEOUT' } });
  expect(scripted.server.seen).toHaveLength(1);
});

test('an abort after the request began is ambiguous, one before it is just the abort', async () => {
  const controller = new AbortController();
  await open(() => controller.abort(new Error('stop')));
  expect(await errorOf(upload(controller.signal))).toBeInstanceOf(AmbiguousUploadError);
  expect(await errorOf(upload(controller.signal))).toBe(controller.signal.reason);
  expect(scripted.server.seen).toHaveLength(1);
});

test.each([
  ['is not held', () => undefined],
  ['is held', () => Promise.resolve()],
])('what is thrown when it may be sent ends the call, and nothing is sent: it %s', async (_, hold) => {
  const limiter = { wait: async () => hold, pause: () => undefined };
  await open((response) => sendJson(response, ACCEPTED), { limiter });
  const stopped = new Error('stopped');
  const begins = () => {
    throw stopped;
  };
  const large = uploadFile('large.csv', Buffer.alloc(200_000, 'a'));
  for (const sent of [file, large]) {
    const call = scripted.client.upload({ file: sent, description: '', begins }, noSignal);
    expect(await errorOf(call)).toBe(stopped);
  }
  expect(scripted.server.seen).toEqual([]);
});

test('opens the file again for each attempt', async () => {
  await open((response, _request, nth) =>
    nth < 3 ? sendJson(response, {}, 429) : sendJson(response, ACCEPTED),
  );
  await upload();
  expect(
    scripted.server.seen.map(({ body }) => body.includes('\r\n\r\nrecord_id,name\n1,Ä\n2,b\n\r\n')),
  ).toEqual([true, true, true]);
});

test.each([
  ['shorter', 1],
  ['longer', -1],
])('a file that is %s than it says is no whole upload, and ambiguous', async (_, more) => {
  await open((response) => sendJson(response, ACCEPTED));
  const large = uploadFile('large.csv', Buffer.alloc(600_000, 'a'));
  const error = await errorOf(upload(noSignal, { ...large, bytes: large.bytes + more }));
  expect(error).toBeInstanceOf(AmbiguousUploadError);
  expect((error as Error).message).toContain('large.csv');
  expect(scripted.server.seen).toEqual([]);
});

test.each([
  ['EMFILE', 'TOO_MANY_FILES', 5],
  ['ENOENT', 'FILE_GONE', 2],
  ['EIO', 'DISK_FAILED', 5],
])(
  'a file that cannot be opened (%s) ends the call at once: nothing was sent, so nothing is ambiguous',
  async (system, code, exitCode) => {
    await open((response) => sendJson(response, ACCEPTED));
    const unreadable = {
      ...file,
      // biome-ignore lint/correctness/useYield: it fails before its first piece
      open: async function* (): AsyncGenerator<Uint8Array> {
        throw Object.assign(new Error(system), { code: system, syscall: 'open', path: '/chunk-1.csv' });
      },
    };
    const error = await errorOf(upload(noSignal, unreadable));
    expect(error).not.toBeInstanceOf(AmbiguousUploadError);
    expect(error).toMatchObject({ code, exitCode, facts: { path: '/chunk-1.csv' } });
  },
);

test('a file that has become shorter between two attempts ends the call at once', async () => {
  await open((response) => sendJson(response, ACCEPTED));
  const short = {
    ...file,
    // biome-ignore lint/correctness/useYield: it fails before its first piece
    open: async function* (): AsyncGenerator<Uint8Array> {
      throw new TroubleError('CHUNK_FILE_SHORT', 'became shorter');
    },
  };
  const error = await errorOf(upload(noSignal, short));
  expect(error).not.toBeInstanceOf(AmbiguousUploadError);
  expect(error).toMatchObject({ code: 'CHUNK_FILE_SHORT', exitCode: 5 });
});
