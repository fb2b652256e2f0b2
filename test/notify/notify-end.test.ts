/** The end of a run is told to a file of metrics and to a real server, and never changes how a command ends. */

import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebhookAddress } from '../../src/config/sections/report-section.js';
import { type NotifyOptions, notifyEnd } from '../../src/notify/notify-end.js';
import { describeEnd, type EndFacts, isEnd, type RunEnd } from '../../src/notify/run-end.js';
import type { RunSummary } from '../../src/report/run-summary.js';
import { useFolder } from '../helpers/folders/folders.js';
import { readMetrics } from '../helpers/notify/parse-prometheus.js';

const folder = useFolder();
const now = Date.parse('2026-11-23T03:00:00Z');
const ofOrigin = (successful: number, failed = 0) => ({
  records: successful + failed,
  successful,
  failed,
  unprocessed: 0,
});
const summary = {
  run: 'r1',
  state: 'done',
  rehearsal: false,
  sample: null,
  counts: { read: 101, successful: 95, failed: 5, unprocessed: 0, rejected: 1 },
  origins: { sent: ofOrigin(15, 5), reused: ofOrigin(80), duplicates: ofOrigin(0), skipped: ofOrigin(0) },
  paid: { records: 20, amount: 0.08, currency: 'USD' },
  saved: { records: 80, amount: 0.32, currency: 'USD' },
  inVain: { records: 0, amount: 0, perhaps: 10 },
  output: { bytes: 4096 },
} as RunSummary;
const thisProcess = {
  phases: { check: 500, upload: 1_000, download: 2_000, wait: 60_000, merge: 250 },
  requests: { uploads: 2, polls: 9, downloads: 4, searches: 0 },
  bytes: { uploaded: 1_024, downloaded: 2_048 },
  admitted: null,
};
const error = { code: 'SERVICE_UNAVAILABLE', message: 'down', hint: 'again', resume: null, facts: {} };

const endOf = (facts: Partial<EndFacts> = {}): RunEnd =>
  describeEnd(
    { pipeline: 'nightly' },
    { exitCode: 0, summary, thisProcess, began: now - 64_000, ended: now, ...facts },
  );
const failed = { exitCode: 5, summary: null, error };

let warnings: string[];
let told: string[];
let infos: string[];
beforeEach(() => {
  warnings = [];
  told = [];
  infos = [];
});
const logger = {
  warn: (_: object, text: string) => void warnings.push(text),
  info: (_: object, text: string) => void infos.push(text),
  debug: (_: object, text: string) => void told.push(text),
};
const quick = { attempt: 5_000, all: 10_000, firstRetry: 5 };
const tell = (
  report: { textfile?: string; webhook?: string },
  end: RunEnd,
  options: Partial<NotifyOptions> = {},
) => {
  const { textfile = null, webhook } = report;
  const address = webhook === undefined ? null : new WebhookAddress(webhook);
  return notifyEnd({ report: { html: null, textfile, webhook: address } }, end, {
    reader: null,
    logger,
    times: quick,
    ...options,
  });
};

it('never fails because of the logger, or without one', async () => {
  const fail = () => {
    throw new Error('no log');
  };
  const textfile = join(await folder(), 'nowhere', 'nightly.prom');
  await tell({ textfile, webhook: 'http://127.0.0.1:1' }, endOf(), {
    logger: { warn: fail, info: fail, debug: fail },
    times: { attempt: 100, all: 10, firstRetry: 5 },
  });
  await tell({ textfile }, endOf(), { logger: undefined });
});

it.each<[RunEnd['outcome'], Partial<EndFacts>]>([
  ['success', {}],
  ['partial', { exitCode: 3 }],
  ['partial', { exitCode: 8 }],
  ['failure', { exitCode: 6 }],
  // A deadline that has stopped the run, and published nothing.
  ['failure', { exitCode: 8, error }],
  ['withheld', { exitCode: 9, summary: { ...summary, state: 'withheld' } as RunSummary }],
])('an end is a %s, by its error, exit code and state: %o', (outcome, facts) => {
  expect(endOf(facts).outcome).toBe(outcome);
});

it('an end names its run, and is reported, although no summary of it is known or its run is open', () => {
  expect(endOf({ ...failed, run: 'r7' }).run).toBe('r7');
  const open = { ...summary, state: 'open' } as RunSummary;
  expect(isEnd(endOf({ ...failed, summary: open }))).toBe(true);
  expect(isEnd(endOf({ summary: open }))).toBe(false);
});

describe('the file of metrics', () => {
  const write = async (end: RunEnd, reader: NotifyOptions['reader'] = null) => {
    const textfile = join(await folder(), 'nightly.prom');
    await tell({ textfile }, end, { reader });
    expect(warnings).toEqual([]);
    return readMetrics(await readFile(textfile, 'utf8'), 'nightly');
  };

  it('holds everything about a run that has succeeded, for all to read, and nothing lies beside it', async () => {
    expect(await write(endOf())).toEqual({
      last_success_timestamp_seconds: now / 1000,
      last_run_timestamp_seconds: now / 1000,
      last_run_exit_code: 0,
      'last_run_outcome{outcome=success}': 1,
      'last_run_outcome{outcome=partial}': 0,
      'last_run_outcome{outcome=withheld}': 0,
      'last_run_outcome{outcome=failure}': 0,
      last_run_duration_seconds: 64,
      last_run_rehearsal: 0,
      'last_run_source_records{kind=read}': 101,
      'last_run_source_records{kind=rejected}': 1,
      'last_run_records{origin=sent,ended=successful}': 15,
      'last_run_records{origin=sent,ended=failed}': 5,
      'last_run_records{origin=sent,ended=unprocessed}': 0,
      'last_run_records{origin=reused,ended=successful}': 80,
      'last_run_records{origin=reused,ended=failed}': 0,
      'last_run_records{origin=reused,ended=unprocessed}': 0,
      'last_run_records{origin=duplicates,ended=successful}': 0,
      'last_run_records{origin=duplicates,ended=failed}': 0,
      'last_run_records{origin=duplicates,ended=unprocessed}': 0,
      'last_run_records{origin=skipped,ended=successful}': 0,
      'last_run_records{origin=skipped,ended=failed}': 0,
      'last_run_records{origin=skipped,ended=unprocessed}': 0,
      last_run_paid_records: 20,
      last_run_saved_records: 80,
      'last_run_in_vain_records{certain=yes}': 0,
      'last_run_in_vain_records{certain=no}': 10,
      'last_run_paid_amount{currency=USD}': 0.08,
      'last_run_saved_amount{currency=USD}': 0.32,
      last_run_output_bytes: 4096,
      'last_run_phase_seconds{phase=check}': 0.5,
      'last_run_phase_seconds{phase=upload}': 1,
      'last_run_phase_seconds{phase=download}': 2,
      'last_run_phase_seconds{phase=wait}': 60,
      'last_run_phase_seconds{phase=merge}': 0.25,
      'last_run_requests{operation=upload}': 2,
      'last_run_requests{operation=poll}': 9,
      'last_run_requests{operation=download}': 4,
      'last_run_requests{operation=search}': 0,
      'last_run_transfer_bytes{direction=sent}': 1024,
      'last_run_transfer_bytes{direction=received}': 2048,
    });
    expect(await readdir(await folder())).toEqual(['nightly.prom']);
    expect((await stat(join(await folder(), 'nightly.prom'))).mode & 0o777).toBe(0o644);
  });

  it('keeps the last success when a run fails, is partial or is a rehearsal', async () => {
    await write(endOf());
    const later = { began: now, ended: now + 86_400_000 };
    for (const [facts, outcome] of [
      [{ ...failed }, 'failure'],
      [{ exitCode: 3 }, 'partial'],
      [{ exitCode: 9, summary: { ...summary, state: 'withheld' } as RunSummary }, 'withheld'],
      [{ summary: { ...summary, rehearsal: true } }, 'success'],
    ] as const) {
      const metrics = await write(endOf({ ...facts, ...later }));
      expect(metrics.last_success_timestamp_seconds).toBe(now / 1000);
      expect(metrics.last_run_timestamp_seconds).toBe(now / 1000 + 86_400);
      expect(metrics[`last_run_outcome{outcome=${outcome}}`]).toBe(1);
    }
  });

  it('takes the last success from the state where there is no file, and leaves it out where none is known', async () => {
    expect(await write(endOf(failed))).not.toHaveProperty('last_success_timestamp_seconds');
    const run = { rehearsal: false, publication: { exitCode: 0 }, finishedAt: now - 5_000, source: {} };
    const runs = [
      { ...run, publication: { exitCode: 3 }, finishedAt: now },
      { ...run, rehearsal: true, finishedAt: now },
      { ...run, source: { limit: 100 }, finishedAt: now },
      run,
      { ...run, finishedAt: now - 9_000 },
    ];
    const reader = { runs: async () => runs as never };
    expect(await write(endOf(failed), reader)).toMatchObject({
      last_success_timestamp_seconds: now / 1000 - 5,
      last_run_exit_code: 5,
    });
  });

  it('is not written by a command that waits, has only uploaded, or has done a sample: no night has ended', async () => {
    const textfile = join(await folder(), 'nightly.prom');
    for (const exitCode of [10, 11]) await tell({ textfile }, endOf({ ...failed, exitCode }));
    await tell({ textfile }, endOf({ summary: { ...summary, state: 'open' } }));
    await tell({ textfile }, endOf({ summary: { ...summary, sample: 100 } }));
    expect(await readdir(await folder())).toEqual([]);
  });

  it('that cannot be written is warned of', async () => {
    const here = await folder();
    await tell({ textfile: join(here, 'missing', 'nightly.prom') }, endOf());
    await writeFile(join(here, 'file'), '');
    await tell({ textfile: join(here, 'file', 'nightly.prom') }, endOf());
    // A folder that is there, and takes no files.
    await tell({ textfile: '/proc/nightly.prom' }, endOf());
    await mkdir(join(here, 'read-only'), 0o500);
    await tell({ textfile: join(here, 'read-only', 'nightly.prom') }, endOf());
    // root may write there.
    expect(warnings).toHaveLength(process.getuid?.() === 0 ? 3 : 4);
    expect(warnings[0]).toMatch(
      /^report\.textfile \S+ is not written: the folder \S+missing does not exist$/,
    );
    expect(warnings[1]).toMatch(/^report\.textfile \S+ is not written: .*(not a folder|ENOTDIR)/);
    expect(warnings[2]).toMatch(/^report\.textfile \S+ is not written: no file can be made in \/proc$/);
    if (warnings[3] !== undefined)
      expect(warnings[3]).toMatch(/ is not written: cannot write \S+read-only\S+ \(EACCES\)$/);
  });
});

describe('the webhook', () => {
  interface Got {
    readonly method: string | undefined;
    readonly key: unknown;
    readonly body: string;
  }
  let got: Got[];
  let answer: (response: ServerResponse, tries: number) => void;
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    got.push({ method: request.method, key: request.headers['idempotency-key'], body });
    answer(response, got.length);
  });
  let address: string;
  beforeAll(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/s3cretpath`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    got = [];
  });
  const withStatus =
    (status: number, headers = {}) =>
    (response: ServerResponse) =>
      void response.writeHead(status, headers).end('');

  it('gets one object, with the same id on each try, until it takes it', async () => {
    answer = (response, tries) => withStatus(tries < 3 ? 500 : 204)(response);
    const end = endOf({ exitCode: 3 });
    await tell({ webhook: address }, end);
    expect(warnings).toEqual([]);
    expect(told).toEqual(['report.webhook is told: partial']);
    expect(infos).toEqual([
      `report.webhook (${new URL(address).origin}/[secret]): HTTP 500; this is tried again for 10s`,
    ]);
    expect(got.map(({ method, key }) => [method, key])).toEqual([1, 2, 3].map(() => ['POST', end.id]));
    expect(new Set(got.map(({ body }) => body)).size).toBe(1);
    expect(JSON.parse(got[0]!.body)).toMatchObject({
      version: 1,
      id: end.id,
      outcome: 'partial',
      pipeline: 'nightly',
      run: 'r1',
      exitCode: 3,
      error: null,
      times: { began: '2026-11-23T02:58:56.000Z', ended: '2026-11-23T03:00:00.000Z' },
      summary: { counts: { read: 101 } },
    });
  });

  it('is told of a failure with its code and hint, also where there is no run', async () => {
    answer = withStatus(200);
    await tell({ webhook: address }, endOf({ ...failed, run: undefined, thisProcess: null }));
    expect(JSON.parse(got[0]!.body)).toMatchObject({
      outcome: 'failure',
      run: null,
      exitCode: 5,
      error,
      summary: null,
    });
  });

  it.each([
    [302, { location: 'http://127.0.0.1:1/elsewhere' }, 'it redirects (HTTP 302)'],
    [404, {}, 'HTTP 404'],
    [503, { 'retry-after': '3600' }, 'HTTP 503, to be tried in 1h'],
  ])('%i is final, and the address is not in the warning', async (status, headers, why) => {
    answer = withStatus(status, headers);
    await tell({ webhook: address }, endOf());
    expect(got).toHaveLength(1);
    expect(warnings).toEqual([
      `report.webhook (${new URL(address).origin}/[secret]) is not told that the run ended (success): ${why}`,
    ]);
  });

  it('obeys Retry-After', async () => {
    const at: number[] = [];
    answer = (response, tries) => {
      at.push(performance.now());
      withStatus(tries === 1 ? 429 : 200, { 'retry-after': '1' })(response);
    };
    await tell({ webhook: address }, endOf());
    expect(warnings).toEqual([]);
    expect(at[1]! - at[0]!).toBeGreaterThan(950);
  });

  it('that never answers, or is not there, is given up after a time', async () => {
    answer = () => undefined;
    await tell({ webhook: address }, endOf(), { times: { ...quick, attempt: 150, all: 2000 } });
    expect(got.length).toBeGreaterThan(1);
    await tell({ webhook: 'http://127.0.0.1:1/s3cretpath' }, endOf(), {
      times: { ...quick, attempt: 150, all: 200 },
    });
    expect(warnings[0]).toMatch(/: no(thing came for| reply within) 150ms$/);
    expect(warnings[1]).toMatch(/ECONNREFUSED/);
    expect(warnings.join()).not.toContain('s3cretpath');
  });

  it('is given up soon at a signal; after one it is tried once', async () => {
    answer = withStatus(500);
    const stop = new AbortController();
    const times = { attempt: 20_000, all: 60_000, firstRetry: 20_000 };
    const telling = tell({ webhook: address }, endOf(), { signal: stop.signal, times });
    await expect.poll(() => got.length).toBe(1);
    // Until the reply is read.
    await setTimeout(200);
    stop.abort();
    await telling;
    expect(warnings[0]).toMatch(/HTTP 500; stopped by a signal$/);
    answer = () => undefined;
    const silent = new AbortController();
    const waiting = tell({ webhook: address }, endOf(), { signal: silent.signal, times });
    await expect.poll(() => got.length).toBe(2);
    silent.abort();
    await waiting;
    expect(warnings[1]).toMatch(/: no reply; stopped by a signal$/);
    answer = withStatus(200);
    await tell({ webhook: address }, endOf(failed), { signal: stop.signal });
    expect(got).toHaveLength(3);
    expect(told).toEqual(['report.webhook is told: failure']);
    answer = withStatus(500);
    infos = [];
    await tell({ webhook: address }, endOf(failed), { signal: stop.signal });
    expect(got).toHaveLength(4);
    expect(warnings[2]).toMatch(/: HTTP 500$/);
    expect(infos).toEqual([]);
  });
});
