/** `foliopipe check` tells what answers at the service's address, and leaves nothing behind. */

import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkSetup, loadConfig } from '../../../pipelines/index.js';
import { openScriptedServer, type SeenRequest, sendJson } from '../../fake-service/scripted-server.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, filesUnder, type Job } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { serveToken, useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
let job: Job;
const serve = useServe();

beforeAll(async () => {
  job = await createJob(await folder(), { baseUrl: serve.url });
});
interface Checked {
  /** The exit code that the command would end with. */
  readonly code: number;
  readonly items: Readonly<
    Record<string, { readonly ok: boolean | null; readonly told: string; code?: string }>
  >;
}

/** What `check` finds, with keys of the config set as flags do. */
async function check(settings: Readonly<Record<string, string>> = {}): Promise<Checked> {
  const overrides = Object.entries(settings).map(([key, value]) => ({ key, value, origin: 'test' }));
  const { env, folder: cwd } = job;
  const config = await loadConfig({
    files: [job.config],
    env,
    cwd,
    overrides: overrides.map((one) => ({ ...one, baseDir: cwd })),
  });
  const items: Checked['items'] & Record<string, unknown> = {};
  let code = 0;
  for await (const { item, outcome, text, error } of checkSetup(config)) {
    const ok = outcome === 'unsure' ? null : outcome === 'ok';
    Object.assign(items, { [item]: { ok, told: text, ...(error && { code: error.code }) } });
    code ||= error?.exitCode ?? 0;
  }
  return { code, items };
}

type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** What `check` says of a server that answers so. */
async function checkAt(
  answer: Answer,
  settings: Readonly<Record<string, string>> = {},
): Promise<Checked & { seen: readonly SeenRequest[] }> {
  const server = await openScriptedServer(answer);
  try {
    const checked = await check({ 'service.baseUrl': server.url, ...settings });
    return { ...checked, seen: server.seen };
  } finally {
    await server.close();
  }
}

/** A server that speaks no HTTP. */
async function listen(answer: (socket: net.Socket) => void): Promise<{ at: string; close(): void }> {
  const server = net.createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { at: `127.0.0.1:${port}`, close: () => void server.close() };
}

const isInfo = ({ path }: SeenRequest) => path.endsWith('/file/info');
const hasToken = ({ query }: SeenRequest) => query.get('token') === serveToken;
const page: Answer = (response, { path }) => {
  response.writeHead(404, { 'content-type': 'text/html' });
  response.end(`<!doctype html><title>Not found</title>${path} ${Date.now()}`);
};

describe('what answers at the address', () => {
  it('the service, with a token that is accepted', async () => {
    const { code, items } = await check();
    expect(code).toBe(0);
    expect(items.service).toMatchObject({ ok: true, told: expect.stringMatching(/as the service does/) });
    expect(items.token).toMatchObject({ ok: true, told: expect.stringMatching(/accepted/) });
  });

  it('the command prints a line for each item, and JSON with --json', async () => {
    const text = await callMain(['check', job.config], { env: job.env });
    const json = await callMain(['check', job.config, '--json'], { env: job.env });
    const items = ['config', 'state', 'output', 'disk', 'source', 'service', 'token'];
    expect(text.stdout.match(/^ok {4}\w+/gm)).toEqual(items.map((item) => `ok    ${item}`));
    const lines = jsonLines(json.stdout);
    expect(lines.map(({ item }) => item)).toEqual([...items, undefined]);
    expect(lines.at(-1)).toEqual({ type: 'summary', ok: true, exitCode: 0 });
  });

  it('a source of headers alone is refused, as a run refuses it', async () => {
    const [bare, bad] = [join(await folder(), 'bare.csv'), join(await folder(), 'bad.csv')];
    const header = (await readFile(job.source, 'utf8')).split('\n')[0]!;
    await writeFile(bare, `${header}\n\n`);
    await writeFile(bad, `${header}\n1\n`);
    expect(await check({ 'source.path': bare })).toMatchObject({
      code: 4,
      items: { source: { ok: false, code: 'SOURCE_NO_RECORDS', told: expect.stringContaining('no record') } },
    });
    // Whether records are well-formed is not looked at.
    expect(await check({ 'source.path': bad })).toMatchObject({ code: 0, items: { source: { ok: true } } });
  });

  it('a service that asks to wait is asked once, and the hint says for how long', async () => {
    const server = await openScriptedServer((response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '20' });
      response.end('{"message":"slow down"}');
    });
    const checked = await callMain(['check', job.config, '--base-url', server.url], { env: job.env });
    await server.close();
    expect(checked.code).toBe(5);
    expect(checked.stdout).toContain(
      'HTTP 429: slow down\n      next: wait 20s, as the service asks, then run the same command again\n',
    );
    expect(server.seen).toHaveLength(1);
  });

  it('a damaged state, with the flags that were typed in the hint, in JSON as in text', async () => {
    const damaged = join(await folder(), 'damaged');
    await mkdir(damaged);
    await writeFile(join(damaged, 'checkpoint.db'), 'no database');
    const typed = ['check', '-c', job.config, '--state-dir', damaged];
    const json = await callMain([...typed, '--json'], { env: job.env });
    const text = await callMain(typed, { env: job.env });
    const { hint, code } = jsonLines(json.stdout).find(({ item }) => item === 'state')!;
    expect(code).toBe('CHECKPOINT_DAMAGED');
    expect(hint).toContain(`foliopipe recover -c ${job.config} --state-dir ${damaged}`);
    expect(text.stdout).toContain(`next: ${hint}`);
  });

  it('a reply that is not coded as it says is no complete answer', async () => {
    const { code, items } = await checkAt((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('{}'),
    );
    expect(code).toBe(5);
    expect(items.service).toMatchObject({
      ok: false,
      code: 'SERVICE_UNAVAILABLE',
      told: expect.stringMatching(/gives no complete answer: the reply claims to be gzip, but is not/),
    });
  });

  it('sends only GETs, and no more than three', async () => {
    const { seen } = await checkAt((response) => sendJson(response, { message: 'hello' }));
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
  });

  const cases: readonly [string, Answer, number, boolean | null, RegExp][] = [
    ['a web page for every path', (r) => void r.end('<html>welcome</html>'), 2, false, /web page: welcome/],
    ['a page that says 404, with the time in it', page, 2, false, /no such path/],
    ['foreign JSON', (r) => sendJson(r, { error: 'not found' }, 404), 2, false, /other JSON|no such path/],
    [
      'the same 404 in the form of the service at every path',
      (r) => sendJson(r, { message: 'not found', response: null }, 404),
      0,
      null,
      /404: not found, in the form of the service, but at a wrong path too.*cannot be told/,
    ],
    [
      'foreign JSON with a message that names the path, at any path',
      (r, { path }) => sendJson(r, { message: `Cannot GET ${path}` }, 404),
      2,
      false,
      /no such path/,
    ],
    [
      'a redirect',
      (r) => void r.writeHead(302, { location: 'https://elsewhere.example/login?x=1' }).end(),
      2,
      false,
      /redirects to https:\/\/elsewhere\.example /,
    ],
    [
      'a path that takes no GET',
      (r, q) => sendJson(r, { message: 'no GET' }, isInfo(q) ? 405 : 404),
      2,
      false,
      /405/,
    ],
    ['an outage behind a proxy', (r) => void r.writeHead(502).end('<h1>Bad gateway</h1>'), 5, false, /502/],
    ['too many requests', (r) => sendJson(r, { message: 'slow down' }, 429), 5, false, /429/],
    [
      'a 500 about the folio alone',
      (r, q) => sendJson(r, { message: isInfo(q) ? 'oops' : 'no such path' }, isInfo(q) ? 500 : 404),
      0,
      null,
      /500: oops: it fails now, or only for a folio/,
    ],
    ['a 500 about everything', (r) => sendJson(r, { message: 'oops' }, 500), 5, false, /500: oops/],
    ['a spent quota', (r) => sendJson(r, { message: 'pay first' }, 402), 7, false, /402: pay first/],
    [
      'other JSON at this path alone',
      (r, q) => sendJson(r, { detail: isInfo(q) ? 'what folio?' : 'no' }, 404),
      0,
      null,
      /cannot be told.*what folio/,
    ],
    [
      'the service, with 200 and no folio',
      (r, q) => (isInfo(q) ? sendJson(r, { response: null, message: 'unknown' }) : page(r, q)),
      0,
      true,
      /as the service does/,
    ],
  ];

  it.concurrent.each(cases)('%s', async (_, answer, code, ok, told) => {
    const checked = await checkAt(answer);
    expect(checked.items.service).toMatchObject({ ok, told: expect.stringMatching(told) });
    expect(checked.code).toBe(code);
    // Something has answered.
    expect(checked.items.token!.told).not.toContain('did not answer');
  });

  it.concurrent('the next command of a wrong address names a path that does not belong to it', async () => {
    const server = await openScriptedServer(page);
    try {
      const args = ['check', job.config, '--base-url', `${server.url}/naics/naics/external/upload`];
      const { stdout } = await callMain(args, { env: job.env });
      expect(stdout).toContain('without the paths of the operations, such as /naics/naics/external/upload');
      expect(stdout).toMatch(/\?\? {4}token: not known: what answered says nothing about it/);
    } finally {
      await server.close();
    }
  });

  it.concurrent('nothing: no host, no name, no answer, or one that drips', async () => {
    const mute = await listen(() => undefined);
    const began = performance.now();
    const drip: Answer = (response) => {
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    };
    const [refused, ...others] = await Promise.all([
      check({ 'service.baseUrl': 'http://127.0.0.1:9' }),
      check({ 'service.baseUrl': 'https://no-such-host.invalid' }),
      check({ 'service.baseUrl': `http://${mute.at}` }),
      checkAt(drip),
    ]);
    mute.close();
    expect(performance.now() - began).toBeLessThan(30_000);
    for (const { code, items } of [refused, ...others]) {
      expect(code).toBe(5);
      expect(items.service).toMatchObject({ ok: false, code: 'SERVICE_UNAVAILABLE' });
      expect(items.token).toMatchObject({ ok: null });
    }
    expect(refused.items.service!.told).toMatch(/ECONNREFUSED/);
  });

  it.concurrent('something that does not speak HTTP', async () => {
    const server = await listen((socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    const plain = await check({ 'service.baseUrl': `http://${server.at}` });
    const secure = await check({ 'service.baseUrl': `https://${server.at}` });
    server.close();
    for (const { code, items } of [plain, secure]) {
      expect(items.service).toMatchObject({ ok: false, code: 'SERVICE_WRONG_ADDRESS' });
      expect(code).toBe(2);
    }
    expect(secure.items.service!.told).toMatch(
      /does not speak its protocol: no TLS is spoken there; is it an http:\/\/ address\? \(\w+\)$/,
    );
  });
});

describe('the token', () => {
  const info =
    (reply: (response: ServerResponse, isRight: boolean) => void): Answer =>
    (response, request) =>
      isInfo(request) ? reply(response, hasToken(request)) : page(response, request);

  it.each<[string, Answer, number, boolean | null, RegExp]>([
    ['refused with 401', info((r) => sendJson(r, { message: 'bad token' }, 401)), 7, false, /401: bad token/],
    [
      'refused with 403 by a page',
      (r) => void r.writeHead(403).end('<h1>No</h1>'),
      7,
      false,
      /403 with a web page/,
    ],
    [
      'refused with 400, as any other',
      info((r) => sendJson(r, { message: 'invalid token' }, 400)),
      7,
      false,
      /invalid token/,
    ],
    [
      'accepted: a wrong one is refused',
      info((r, right) => sendJson(r, { message: 'x' }, right ? 404 : 401)),
      0,
      true,
      /HTTP 401/,
    ],
    [
      'not told: a wrong one gets the same',
      info((r) => sendJson(r, { message: 'no folio' }, 404)),
      0,
      null,
      /same answer.*no folio/,
    ],
  ])('%s', async (_, answer, code, ok, told) => {
    const checked = await checkAt(answer);
    expect(checked.items.token).toMatchObject({ ok, told: expect.stringMatching(told) });
    expect(checked.code).toBe(code);
  });

  it('is refused by the local service, and never shown', async () => {
    const end = await callMain(['check', job.config], { env: { FOLIOPIPE_TOKEN: 'wrong-token' } });
    expect(end).toMatchObject({
      code: 7,
      stdout: expect.stringMatching(/FAIL {2}token: .*401.*\n {6}next: /),
    });
    const echoing = await checkAt((r, { query }) =>
      sendJson(r, { message: `your ${query.get('token')}` }, 400),
    );
    expect(JSON.stringify(echoing)).not.toContain(serveToken);
  });

  it('goes in a header where the config says so', async () => {
    const { seen } = await checkAt((r) => sendJson(r, {}), { 'service.tokenIn': 'header' });
    expect(seen[0]!.headers.token).toBe(serveToken);
    expect(seen[0]!.query.has('token')).toBe(false);
  });
});

describe('the address of the search', () => {
  const rescue = { 'failures.rescue': 'search', 'failures.rescueColumns': '{"naics_code":"naics_code"}' };

  it('is asked nothing that costs, only where the search is used', async () => {
    const server = await openScriptedServer((response) => sendJson(response, { message: 'POST only' }, 405));
    const at = { 'service.legacyBaseUrl': server.url };
    const unused = await check(at);
    const used = await check({ ...at, ...rescue });
    await server.close();
    const closed = await check({ ...at, ...rescue });
    expect(unused.items).not.toHaveProperty('search');
    expect(used).toMatchObject({
      code: 0,
      items: { search: { ok: null, told: expect.stringMatching(/answers/) } },
    });
    expect(server.seen.map(({ method, query }) => [method, query.has('token')])).toEqual([['GET', false]]);
    expect(closed).toMatchObject({ code: 5, items: { search: { ok: false } } });
  });
});

describe('what is left behind', () => {
  it('nothing: neither folders nor files', async () => {
    const fresh = await createJob(join(await folder(), 'fresh'), { baseUrl: serve.url });
    const before = await filesUnder(fresh.folder);
    const end = await callMain(['check', fresh.config], { env: fresh.env });
    expect(end.code, end.stdout).toBe(0);
    expect(end.stdout).toMatch(/ok {4}output: .* is missing, and can be created\n/);
    expect(await filesUnder(fresh.folder)).toEqual(before);
    await expect(stat(fresh.stateDir)).rejects.toThrow('ENOENT');
    await expect(stat(join(fresh.folder, 'out'))).rejects.toThrow('ENOENT');
  });

  it('nothing of the embedded service, which it starts and asks', async () => {
    const embedded = await createJob(join(await folder(), 'embedded'));
    const settings = [
      '--set',
      'service.embedded=true',
      '--set',
      'service.baseUrl=null',
      '--set',
      'service.token=null',
    ];
    const end = await callMain(['check', embedded.config, ...settings], { env: embedded.env });
    expect(end.code, end.stdout + end.stderr).toBe(0);
    expect(end.stdout).toMatch(/ok {4}token: /);
    await expect(stat(embedded.stateDir)).rejects.toThrow('ENOENT');
  });

  it('a folder that can be created nowhere is named, with the parent that is in the way', async () => {
    const closed = join(await folder(), 'closed');
    await mkdir(closed);
    await writeFile(join(closed, 'file'), '');
    await chmod(closed, 0o500);
    const under = await check({ 'output.path': join(closed, 'file', 'deep', 'enriched.csv') });
    expect(under).toMatchObject({ code: 2, items: { output: { ok: false, code: 'FOLDER_UNWRITABLE' } } });
    expect(under.items.output!.told).toContain(join(closed, 'file'));
    expect(await readdir(closed)).toEqual(['file']);
    // So that it can be removed.
    await chmod(closed, 0o700);
  });
});

it.skipIf(process.platform !== 'linux')(
  'a place that takes no folders is told, for state and output',
  async () => {
    for (const stateDir of ['/proc/foliopipe', '/proc/foliopipe/state']) {
      const { code, items } = await check({ stateDir, 'output.path': '/proc/enriched.csv' });
      expect(code).toBe(2);
      expect(items.state).toMatchObject({ ok: false, code: 'FOLDER_UNWRITABLE' });
      expect(items.output).toMatchObject({ ok: false, code: 'FOLDER_UNWRITABLE' });
    }
    const before = await readdir(job.folder);
    expect((await check({ stateDir: 'new' })).items.state).toMatchObject({ ok: true });
    expect(await readdir(job.folder)).toEqual(before);
  },
);

it('a place where no output can be is told, and a pattern that matches what is written', async () => {
  const pipe = join(await folder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { code, items } = await check({ 'output.path': pipe });
  expect([code, items.output]).toMatchObject([2, { ok: false, code: 'OUTPUT_NOT_A_FILE' }]);
  const { items: others } = await check({ 'source.path': '*.csv', 'output.path': 'x.csv' });
  expect(others.output).toMatchObject({ ok: false, code: 'OUTPUT_IN_SOURCE' });
  expect(await filesUnder(job.folder)).not.toContain('x.csv');
});
