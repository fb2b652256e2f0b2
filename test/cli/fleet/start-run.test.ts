/** A run that cannot be started has an end like every other one. */
import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startRun } from '../../../src/cli/fleet/start-run.js';
import { silentLogger } from '../../../src/logger.js';
import { useFolder } from '../../helpers/folders/folders.js';

/** What Node gives at the limit of open files: no streams, and the error a little later. */
const atTheLimit = (() => {
  const child = Object.assign(new EventEmitter(), { stdout: undefined, stderr: undefined });
  process.nextTick(() => child.emit('error', Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' })));
  return child;
}) as unknown as typeof spawn;

const folder = useFolder();
const from = { host: 'vm', files: [] };
const job = { version: 1, pipeline: 'nightly', config: '{}', flags: {}, from } as const;

it('says at the limit of open files that the run is not started, and leaves no config behind', async () => {
  const scratchDir = await folder();
  const state = 'postgres://h/d';
  const { ended } = startRun(job, { scratchDir, state, logger: silentLogger, logLevel: 'info' }, atTheLimit);
  expect(await ended).toMatchObject({
    exitCode: 5,
    run: null,
    hasReported: true,
    error: { code: 'RUN_NOT_STARTED', message: 'the run cannot be started: spawn EMFILE' },
  });
  expect(existsSync(join(scratchDir, 'jobs', `nightly-${process.pid}.json`))).toBe(false);
});

/** Starts a run whose process is this script. */
async function startScript(script: string) {
  const scratchDir = await folder();
  const state = 'postgres://h/d';
  const log: string[] = [];
  const write = (level: string) => (_: object, text: string) => void log.push(`${level} ${text}`);
  const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const file = join(scratchDir, 'jobs', `nightly-${process.pid}.json`);
  const given: Record<string, unknown> = {};
  const start = ((node: string, args: string[], options: { env: Record<string, string> }) => {
    const { FOLIOPIPE_STATE, FOLIOPIPE_SCRATCH_DIR, FOLIOPIPE_OF_WORKER } = options.env;
    Object.assign(given, {
      args: args.slice(args.indexOf('run')),
      env: [FOLIOPIPE_STATE, FOLIOPIPE_SCRATCH_DIR, FOLIOPIPE_OF_WORKER],
      config: readFileSync(file, 'utf8'),
      modes: [file, join(scratchDir, 'jobs')].map((path) => statSync(path).mode & 0o777),
    });
    return spawn(node, ['-e', script], options);
  }) as unknown as typeof spawn;
  const run = startRun(job, { scratchDir, state, logger, logLevel: 'warn' }, start);
  return { run, log, given, file, scratchDir };
}

it('gives the config to the process of a run alone, and passes on what that says and how it ends', async () => {
  const error = { code: 'TOKEN_REFUSED', message: 'refused', hint: 'run the same command again' };
  const lines = [
    { type: 'start', run: 'r1' },
    { type: 'summary', run: 'r1', error },
  ];
  const logged = [
    { level: 30, type: 'start', msg: 'begins' },
    { level: 50, msg: 'bad', exitCode: 7 },
    { level: 99, msg: 'of an unknown level' },
    { level: 40, type: 'summary', msg: 'the end' },
  ];
  const text = (objects: readonly object[]) =>
    JSON.stringify(objects.map((one) => JSON.stringify(one)).join('\n'));
  const { run, log, given, file, scratchDir } = await startScript(
    `console.log(${text(lines)}); console.error(${text(logged)}); console.error('out of memory'); process.exitCode = 7;`,
  );
  expect(await run.ended).toMatchObject({
    exitCode: 7,
    signal: null,
    run: 'r1',
    hasReported: true,
    error: { code: 'TOKEN_REFUSED', hint: expect.stringContaining('foliopipe enqueue --again nightly') },
  });
  expect(run.hasReported()).toBe(true);
  expect(log).toEqual([
    'debug nightly: begins',
    'error nightly: bad',
    'info nightly: of an unknown level',
    'debug nightly: the end',
    'warn nightly: out of memory',
  ]);
  expect(given).toEqual({
    args: ['run', '-c', file, '--json', '--log-format', 'json', '--log-level', 'warn'],
    env: ['postgres://h/d', scratchDir, JSON.stringify(from)],
    config: '{}',
    modes: [0o600, 0o700],
  });
  expect(existsSync(file)).toBe(false);
});

it('stops a run by closing its channel, and has an end for one that it has killed', async () => {
  const stopped = await startScript("process.on('disconnect', () => process.exit(143))");
  stopped.run.stop();
  stopped.run.stop();
  expect(await stopped.run.ended).toMatchObject({
    exitCode: 143,
    run: null,
    hasReported: false,
    error: null,
  });
  const hanging = await startScript("process.on('disconnect', () => undefined); setInterval(() => 0, 1000)");
  hanging.run.kill();
  expect(await hanging.run.ended).toMatchObject({ exitCode: 143, signal: null, hasReported: false });
  const crashed = await startScript("process.kill(process.pid, 'SIGKILL')");
  expect(await crashed.run.ended).toMatchObject({ exitCode: null, signal: 'SIGKILL', hasReported: false });
});
