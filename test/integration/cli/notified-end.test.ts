/** The command tells how a run has ended, to a file of metrics and to a webhook: each night, once, whatever its outcome. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FakeService, openFakeService } from '../../fake-service/fake-service.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createJob, filesHolding, filesUnder } from '../../helpers/jobs/cli-job.js';
import { readMetrics } from '../../helpers/notify/parse-prometheus.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { endProblems } from '../../helpers/processes/event-problems.js';

const folder = useFolder();
let service: FakeService;
let hook: string;
let posted: Record<string, unknown>[];
let problems: string[];
let status: number;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  posted.push(JSON.parse(body));
  problems.push(...endProblems(posted.at(-1)));
  response.writeHead(status).end();
});
beforeAll(async () => {
  service = await openFakeService();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/s3cretpath`;
});
afterAll(async () => {
  server.close();
  await service.close();
});
beforeEach(() => {
  posted = [];
  problems = [];
  status = 200;
});

async function createNight() {
  const textfile = join(await folder(), 'nightly.prom');
  const job = await createJob(await folder(), {
    baseUrl: service.url,
    settings: {
      report: { textfile, webhook: `\${FOLIOPIPE_WEBHOOK}` },
      budget: { pricePerRecord: 0.01 },
    },
  });
  const env = { FOLIOPIPE_TOKEN: service.token, FOLIOPIPE_WEBHOOK: hook };
  const type = async (...args: string[]) => {
    const log = join(job.folder, 'run.log');
    const end = await callMain([...args, '-c', job.config, '--json', '--log-file', log], { env });
    return { ...end, summary: jsonLines(end.stdout).at(-1)! };
  };
  return {
    job,
    type,
    metrics: async () => readMetrics(await readFile(textfile, 'utf8'), 'nightly'),
    textfile,
  };
}

it('after a success, a failure before the run begins, and an outage; the address of the webhook is nowhere', async () => {
  const { job, type, metrics } = await createNight();
  const good = await type('run');
  expect(good.code, good.stderr).toBe(0);
  const { type: _, exitCode, ...summary } = good.summary;
  expect(posted).toHaveLength(1);
  expect(posted[0]).toMatchObject({
    outcome: 'success',
    exitCode,
    run: summary.run,
    error: null,
    summary: { run: summary.run, counts: summary.counts, paid: { records: 60, amount: 0.6 } },
    thisProcess: { requests: { uploads: 6 } },
  });
  expect(summary.thisProcess).toMatchObject({ requests: { uploads: 6, searches: 0 } });
  const first = await metrics();
  expect(first).toMatchObject({
    last_run_exit_code: 0,
    last_run_paid_records: 60,
    'last_run_requests{operation=upload}': 6,
  });

  const source = await readFile(job.source, 'utf8');
  await rm(job.source);
  const missing = await type('run');
  expect(missing.code).toBe(4);
  expect(posted[1]).toMatchObject({
    outcome: 'failure',
    exitCode: 4,
    run: null,
    summary: null,
    error: { code: 'SOURCE_MISSING', hint: expect.stringMatching(/./) },
  });
  expect(await metrics()).toMatchObject({
    last_run_exit_code: 4,
    last_success_timestamp_seconds: first.last_success_timestamp_seconds,
  });

  await writeFile(job.source, `${source}One More,1 New St,MT,new\n`);
  const down = await type(
    'run',
    '--base-url',
    'http://127.0.0.1:1',
    '--set',
    'service.name=other',
    '--set',
    'retry.giveUpAfter=50ms',
  );
  expect(down.code, down.stderr).toBe(5);
  expect(posted[2]).toMatchObject({
    outcome: 'failure',
    run: expect.stringMatching(/^\d{8}T/),
    summary: { state: 'open', counts: { read: 61 }, paid: { records: 0 } },
    error: { code: 'SERVICE_UNAVAILABLE' },
  });
  expect(problems).toEqual([]);
  expect(new Set(posted.map(({ id }) => id)).size).toBe(3);
  expect(good.stderr + missing.stderr + down.stderr).not.toContain('s3cretpath');
  expect(await filesUnder(job.folder)).toContain('run.log');
  expect(await filesHolding(job.folder, 's3cretpath')).toEqual([]);
});

it('a webhook that refuses changes nothing but for a warning; plan and status tell nobody', async () => {
  const { job, type, textfile } = await createNight();
  expect((await type('plan')).code).toBe(0);
  expect((await type('run', '--dry-run')).code).toBe(0);
  expect(posted).toEqual([]);
  await expect(readFile(textfile)).rejects.toThrow('ENOENT');
  status = 403;
  const end = await type('run');
  expect(end.code, end.stderr).toBe(0);
  expect(end.summary).toMatchObject({ type: 'summary', exitCode: 0 });
  expect(end.stderr).toMatch(
    /WARN.*report\.webhook \(http:\/\/127\.0\.0\.1:\d+\/\[secret\]\) is not told .*: HTTP 403/,
  );
  expect((await type('status')).code).toBe(0);
  expect(posted).toHaveLength(1);
  // Nobody waits for a webhook to see how it ended.
  const env = { FOLIOPIPE_TOKEN: service.token, FOLIOPIPE_WEBHOOK: hook };
  const again = await callMain(['run', '-c', job.config], { env });
  expect(again.stderr).toMatch(/is done already; [\s\S]* WARN.*is not told/);
  await rm(job.source);
  const missing = await type('run');
  expect(missing.stderr).toMatch(/\[SOURCE_MISSING\]\n[\s\S]* WARN.*is not told/);
  expect(missing.stderr.split('[SOURCE_MISSING]')).toHaveLength(2);
  expect(posted).toHaveLength(3);
});

it('a token that the service repeats in its reasons stands in nothing that people or programs are shown', async () => {
  const loud: FakeService = await openFakeService({
    answer: () => ({ status: 'FAILED', added: { reason: `no business has the token ${loud.token}` } }),
  });
  const textfile = join(await folder(), 'loud.prom');
  const job = await createJob(await folder(), {
    baseUrl: loud.url,
    settings: { report: { textfile, webhook: `\${FOLIOPIPE_WEBHOOK}`, html: 'night.html' } },
  });
  const env = { FOLIOPIPE_TOKEN: loud.token, FOLIOPIPE_WEBHOOK: hook };
  const log = join(job.folder, 'run.log');
  const told: string[] = [];
  const shown = async (...args: string[]) => {
    const { stdout, stderr } = await callMain([...args, '-c', job.config], { env });
    told.push(stdout, stderr);
    return stdout + stderr;
  };
  expect(await shown('run', '--log-file', log)).toContain('no business has the token [token]');
  await shown('run', '--json', '--log-format', 'json');
  await shown('status');
  await shown('status', '--json');
  expect(await shown('runs', 'show')).toContain('no business has the token [token]');
  await shown('runs', 'show', '--json');
  await shown('report', '--output', join(job.folder, 'again.html'));
  for (const page of ['night.html', 'again.html']) {
    const text = await readFile(join(job.folder, page), 'utf8');
    expect(text).toContain('no business has the token [token]');
    told.push(text);
  }
  told.push(JSON.stringify(posted), await readFile(textfile, 'utf8'), await readFile(log, 'utf8'));
  expect(posted).toHaveLength(2);
  expect(told.filter((text) => text.includes(loud.token))).toEqual([]);
  await loud.close();
});
