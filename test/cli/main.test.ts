/** Usage and config errors: one message with the next command, as text and as JSON; nothing is written to disk. */
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSharedFolder } from '../helpers/folders/folders.js';
import { createJob } from '../helpers/jobs/cli-job.js';
import { callMain, expectError } from '../helpers/processes/call-main.js';
import { jsonLines } from '../helpers/processes/cli.js';

const folder = useSharedFolder();

describe('run is refused for', () => {
  const cases: [string, string[], RegExp, Record<string, string>?][] = [
    ['an unknown key', ['--set', 'chunks.maxRecrods=5'], /maxRecrods.*maxRecords/],
    ['a value of the wrong type', ['--set', 'chunks.maxRecords=many'], /chunks\.maxRecords: .*--set/],
    ['--set without a value', ['--set', 'chunks.maxRecords'], /key=value/],
    ['a token in a flag', ['--set', 'service.token=abcdefgh'], /service\.token/],
    ['an unknown flag', ['--bogus'], /unknown option '--bogus'/],
    ['an unknown log level', ['--log-level', 'loud'], /--log-level.*loud/],
    ['an unknown log format', ['--log-format', 'xml'], /--log-format.*xml/],
    ['a log file that cannot be written', ['--log-file', '/dev/null/log'], /--log-file: \/dev\/null\/log/],
    [
      'a partial publication without a deadline',
      ['--publish-partial'],
      /--publish-partial: .*--max-duration/s,
    ],
    ['an unknown scene', ['--rehearse', 'nowhere'], /there is no scene nowhere/],
    ['an unknown failpoint', [], /no failpoint nowhere/, { FOLIOPIPE_CRASH_AT: 'nowhere' }],
    [
      'a failpoint without a count',
      [],
      /FOLIOPIPE_CRASH_AT: x/,
      { FOLIOPIPE_CRASH_AT: 'after-run-before-chunk:x' },
    ],
    ['a plain http:// address', ['--base-url', 'http://service.example'], /service\.baseUrl: http:\/\//],
  ];
  it.each(cases)('%s', async (name, args, expected, env) => {
    const job = await createJob(await folder(), { pipeline: name.replaceAll(/\W/g, '-') });
    const end = await callMain(['run', job.config, ...args], { env: { ...job.env, ...env } });
    expectError(end, 2, expected);
    await expect(stat(job.stateDir)).rejects.toThrow('ENOENT');
  });
});

it('shows in 80 columns what there is, also without colours', async () => {
  const { code, stdout } = await callMain(['--no-color', '--help']);
  expect(code).toBe(0);
  const lines = stdout.split('\n').filter((line) => !line.startsWith('  /'));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(stdout).toMatch(/runs show .*runs prune .*Exit codes.*First steps:.*README\.md/s);
});

it.each([
  [['run'], /no foliopipe\.yaml here/],
  [['run', 'missing.yaml'], /missing\.yaml/],
  [['frobnicate'], /unknown command 'frobnicate'/],
  [['constructor'], /unknown command 'constructor'/],
  [['help', 'frobnicate'], /unknown command 'frobnicate'.*\n.*see the commands with: foliopipe --help/],
  [['state', 'help', 'frobnicate'], /unknown command 'frobnicate'.*\n.*: foliopipe state --help/],
  [[], /no command was given/],
  [[], /^First steps:\n {2}foliopipe init/],
  [['state'], /next: see arguments and flags with: foliopipe state --help/],
  [['state', 'copy', '--bogus'], /next: see arguments and flags with: foliopipe state copy --help/],
  [['state', 'backup'], /next: see arguments and flags with: foliopipe state backup --help/],
  [['run', '--token', 'x'], /next: set the variable FOLIOPIPE_TOKEN/],
  [['retry'], /missing required argument 'run'/],
  [['adopt', 'folio', '--chunk', '1'], /--run/],
  [['adopt', 'folio', '--run', 'R', '--chunk', '0'], /--chunk.*whole number from 1/],
  [['ledger', '--month', '2026-13'], /--month 2026-13: expected a month/],
  [['reuse', 'import', 'old.csv', '--paid-at', '2026-02-30'], /2026-02-30: expected a date or a time/],
  [['serve', '--port', 'x'], /--port.*whole number/],
  [['search', 'missing.yaml'], /--name/],
] as [string[], RegExp][])('foliopipe %j is refused', async (args, expected) => {
  const empty = join(await folder(), 'empty');
  await mkdir(empty, { recursive: true });
  expectError(await callMain(args, { cwd: empty }), 2, expected);
});

describe('with --json and a JSON log', () => {
  it.each([
    ['a wrong flag', ['run', '--bogus'], 2, 'USAGE'],
    ['retry with a config file in the place of the run', ['retry', 'job.yaml'], 2, 'USAGE'],
    ['publish with a config file in the place of the run', ['publish', 'job.YML'], 2, 'USAGE'],
    ['a missing config', ['status', 'missing.yaml'], 2, 'CONFIG_UNREADABLE'],
    ['a missing state', ['runs', 'JOB'], 2, 'STATE_MISSING'],
    ['a missing source', ['plan', 'JOB', '--source', 'absent.csv'], 4, expect.stringMatching(/^SOURCE_/)],
  ])('%s gives a summary, and the log holds the error', async (_, args, exitCode, code) => {
    const job = await createJob(await folder(), { pipeline: 'errors' });
    const named = args.map((word) => (word === 'JOB' ? job.config : word));
    const log = join(job.folder, 'run.log');
    await rm(log, { force: true });
    const end = await callMain([...named, '--json', '--log-format', 'json', '--log-file', log], {
      env: job.env,
      cwd: job.folder,
    });
    expect(end.code, end.stderr).toBe(exitCode);
    const error = { code, message: expect.any(String), hint: expect.any(String), facts: expect.any(Object) };
    expect(jsonLines(end.stdout)).toEqual([
      { type: 'summary', exitCode, run: null, stand: null, error: { ...error, resume: null } },
    ]);
    expect(jsonLines(end.stderr)).toMatchObject([{ level: 50, type: 'failure', code, exitCode, run: null }]);
    expect(jsonLines(await readFile(log, 'utf8'))).toEqual(jsonLines(end.stderr));
  });
});
