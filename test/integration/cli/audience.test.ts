/**
 * Readers that go away or stop, and a full disk under stdout, stderr or the log file: a paid run goes on and ends with
 * its own exit code; a listing ends quietly. Real shell pipes are used.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, type Job } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, nodeFlags } from '../../helpers/processes/cli.js';
import { openServe, useServe } from '../../helpers/service/serve.js';

const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
const folder = useSharedFolder();
const serve = useServe();
let done: Job;

beforeAll(async () => {
  done = await createJob(await folder(), { pipeline: 'done', baseUrl: serve.url });
  expect(await enrichJob(done)).toMatchObject({ exitCode: 0 });
});
const newJob = async (pipeline: string, chunk = 10) =>
  createJob(await folder(), {
    pipeline,
    baseUrl: serve.url,
    chunk,
    settings: { poll: { first: '300ms', max: '300ms' } },
  });

interface Shell {
  /** The exit codes of all commands of the last pipe. */
  readonly codes: readonly number[];
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a line in bash; `foliopipe` is the built command, `$JOB` the config. */
function bash(job: Job, line: string): Promise<Shell> {
  const script = `foliopipe() { "$NODE" $FLAGS "$CLI" "$@"; }\n${line}\necho "codes:\${PIPESTATUS[*]}"`;
  const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env;
  const variables = {
    NODE: process.execPath,
    FLAGS: nodeFlags.join(' '),
    CLI: cli,
    JOB: job.config,
    NO_COLOR: '1',
  };
  const env = { PATH, HOME, TMPDIR, ...variables, ...job.env };
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { env, cwd: job.folder }, (_, output, stderr) => {
      const [stdout = '', codes = ''] = output.split('codes:');
      resolve({ codes: codes.trim().split(' ').map(Number), stdout, stderr });
    });
  });
}

async function expectDone(job: Job): Promise<void> {
  const { stdout } = await callMain(['status', job.config, '--json'], { env: job.env });
  expect(jsonLines(stdout).at(-1)).toMatchObject({
    state: 'done',
    uploads: { accepted: 6, ambiguous: 0 },
    output: { inPlace: true },
  });
}

const stackTrace = /\n\s+at |Unhandled|node:internal/;

describe('a run goes on', () => {
  it.each([
    [
      'nobody reads stdout',
      'foliopipe run "$JOB" --json | true',
      /stdout can no longer be written \(EPIPE\)/,
    ],
    ['head has read its line of stderr', '(foliopipe run "$JOB" 2>&1 >/dev/null; exit $?) | head -1', /^$/],
    [
      'stdout is a full disk',
      'foliopipe run "$JOB" --json > /dev/full',
      /stdout can no longer be written \(ENOSPC\)/,
    ],
    ['stderr is a full disk', 'foliopipe run "$JOB" 2> /dev/full', /^$/],
    [
      'the log file is on a full disk',
      'foliopipe run "$JOB" --log-level debug --log-file /dev/full',
      /\/dev\/full can no longer be written \(ENOSPC\)/,
    ],
    ['all three are', 'foliopipe run "$JOB" --json --log-file /dev/full > /dev/full 2>&1', /^$/],
    ['none was there', 'foliopipe run "$JOB" --json <&- >&- 2>&-', /^$/],
  ])('when %s', async (name, line, told) => {
    const job = await newJob(name.replaceAll(/\W/g, '-'));
    const { codes, stderr } = await bash(job, line);
    expect(codes[0], stderr).toBe(0);
    expect(stderr).toMatch(told);
    expect(stderr.match(/can no longer be written/g)?.length ?? 0).toBeLessThan(2);
    expect(stderr).not.toMatch(stackTrace);
    await expectDone(job);
  });

  it('when head has read its line of stdout before most of the work', async () => {
    const slow = await openServe(join(await folder(), 'slow-service'), { recordsPerSecond: 15 });
    const job = await createJob(await folder(), { pipeline: 'head', baseUrl: slow.url });
    const { codes, stdout, stderr } = await bash(job, 'foliopipe run "$JOB" --json | head -1');
    await slow.stop();
    expect(codes, stderr).toEqual([0, 0]);
    expect(jsonLines(stdout)).toMatchObject([{ type: 'progress' }]);
    expect(stderr.match(/stdout can no longer be written \(EPIPE\)/g)).toHaveLength(1);
    await expectDone(job);
  });

  it('and logs that stderr was lost', async () => {
    const job = await newJob('stderr-lost');
    await bash(job, 'foliopipe run "$JOB" --log-file run.log 2>&1 >/dev/null | true');
    const { stdout } = await bash(job, 'cat run.log');
    expect(stdout).toMatch(/stderr can no longer be written \(EPIPE\)/);
  });

  it('while a reader of stderr has paused', async () => {
    const job = await newJob('stopped-reader', 1);
    // The pipe holds less than the run writes.
    const line = 'exec 2> >(exec sleep 60); head -c 65000 /dev/zero >&2; exec "$0" "$@"';
    const words = [
      '-c',
      line,
      process.execPath,
      ...nodeFlags,
      cli,
      'run',
      job.config,
      '--log-level',
      'debug',
    ];
    const child = spawn('bash', words, {
      env: { ...process.env, ...job.env },
      stdio: 'ignore',
      detached: true,
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      await vi.waitFor(
        async () => {
          const { stdout } = await callMain(['status', job.config, '--json'], { env: job.env });
          expect(jsonLines(stdout).at(-1)).toMatchObject({ state: 'done' });
        },
        { timeout: 50_000, interval: 200 },
      );
    } finally {
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
    }
  });

  it('and keeps the exit code of a failure that nobody reads', async () => {
    const { codes } = await bash(done, 'foliopipe run absent.yaml --json 2>&1 | true');
    expect(codes[0]).toBe(2);
  });
});

describe('a listing', () => {
  it.each(['runs "$JOB" --json', 'ledger "$JOB" --csv', 'plan "$JOB"', 'run --help', '--version'])(
    '%s that nobody reads ends with 0 and no message',
    async (words) => {
      const { codes, stderr } = await bash(done, `foliopipe ${words} | true`);
      expect({ codes, stderr }).toEqual({ codes: [0, 0], stderr: '' });
    },
  );

  it.each(['ledger "$JOB" --csv', 'status "$JOB" --json'])(
    '%s that is cut short by a full disk fails',
    async (words) => {
      const { codes, stderr } = await bash(done, `foliopipe ${words} > /dev/full`);
      expect(codes).toEqual([5]);
      expect(stderr).toMatch(
        /^foliopipe: stdout can no longer be written: ENOSPC \[STDOUT_UNWRITABLE\]\n {2}next: /,
      );
    },
  );
});

it('the paid answer of a search is shown on stderr if stdout is on a full disk', async () => {
  const words = `search "$JOB" --set service.legacyBaseUrl=${serve.url} --name 'Twin Rivers Roofing'`;
  const { codes, stderr } = await bash(done, `foliopipe ${words} > /dev/full`);
  expect(codes).toEqual([5]);
  expect(stderr).toMatch(
    /"naics_code": "\d{6}"[\s\S]*STDOUT_UNWRITABLE\]\n {2}next: .*would pay for it again/,
  );
  expect(stderr).not.toContain('run the same command again');
});

it('serve goes on without a reader until SIGHUP stops it', async () => {
  const job = await newJob('served');
  const port = await freePort();
  const answers = `curl -s -o /dev/null http://127.0.0.1:${port}/`;
  const line = `{ "$NODE" "$CLI" serve --port ${port} --data served --predictor hash & pid=$!; until ${answers}; do sleep 0.1; done; sleep 0.3; kill -HUP $pid; wait $pid; echo "ended:$?" >&2; } | true`;
  const { stderr } = await bash(job, line);
  expect(stderr).toContain('ended:0');
  expect(stderr).not.toMatch(stackTrace);
});

describe('nohup', () => {
  const run =
    'run "$JOB" >/dev/null 2>&1 & pid=$!; until [ -e state/checkpoint.db ]; do sleep 0.1; done; kill -HUP $pid; wait $pid';

  it('is known by the name that bash hands down', async () => {
    const job = await newJob('nohup-name');
    const { codes, stderr } = await bash(job, `nohup "$NODE" "$CLI" ${run} </dev/null`);
    expect(codes, stderr).toEqual([0]);
    await expectDone(job);
  });

  it.runIf(process.platform === 'linux')('is known by the stdin that it leaves', async () => {
    const job = await newJob('nohup-stdin');
    const unread = await open('/dev/null', 'w');
    const child = spawn(process.execPath, [cli, 'run', job.config], {
      env: { PATH: process.env.PATH, ...job.env },
      stdio: [unread.fd, 'ignore', 'ignore'],
    });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    await expect.poll(() => existsSync(join(job.folder, 'state/checkpoint.db'))).toBe(true);
    child.kill('SIGHUP');
    expect(await ended).toEqual({ code: 0, signal: null });
    await unread.close();
    await expectDone(job);
  });
});

/** A port that nobody listens on; the system gives it to nobody else for a while. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
