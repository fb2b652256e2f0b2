/**
 * Does the run of a job in a process of its own: `foliopipe run` with the job's config. So a run that crashes, or takes
 * all memory, harms no other run. The process stops when its channel to this one closes, which also happens when this
 * process dies.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Logger } from '../../../pipelines/index.js';
import { TroubleError } from '../../errors.js';
import { describeProblem, type RunEnd } from '../../fleet/after-run.js';
import { type RunJob, runArguments } from '../../fleet/job.js';
import type { StartedRun } from '../../fleet/work.js';
import { makeFolder } from '../../make-folder.js';
import { inJobWords, problemInJobWords } from './job-words.js';

interface StartOptions {
  /** The folder for files that this machine can make again. */
  readonly scratchDir: string;
  /** The address of the state, with its secrets. The process of the run gets it in the environment. */
  readonly state: string;
  readonly logger: Logger;
  readonly logLevel: string;
}

/**
 * Never throws: a failure to start is reported as the end of the run.
 * @param start starts the process; tests replace it.
 */
export function startRun(job: RunJob, options: StartOptions, start: typeof spawn = spawn): StartedRun {
  const { pipeline } = job;
  const file = join(options.scratchDir, 'jobs', `${pipeline}-${process.pid}.json`);
  const reported: Reported = { run: null, error: null, hasReported: false };
  let isKilled = false;
  try {
    makeFolder(join(options.scratchDir, 'jobs'), 0o700);
    writeFileSync(file, job.config, { mode: 0o600 });
  } catch (error) {
    return endedRun(notStarted(error));
  }
  const child = start(process.execPath, [...process.execArgv, ...commandOf(job, file, options)], {
    env: {
      // glibc keeps memory for each thread by default. Few threads work at a time, so two such places are enough.
      MALLOC_ARENA_MAX: '2',
      // Buffers of at least this size go back to the system when they are freed. Without a fixed size, glibc raises it
      // after each large buffer, and keeps more memory.
      MALLOC_MMAP_THRESHOLD_: `${1024 * 1024}`,
      ...process.env,
      FOLIOPIPE_STATE: options.state,
      FOLIOPIPE_SCRATCH_DIR: options.scratchDir,
      // Where the config comes from, for the commands in the run's texts. Read by stop-signals.ts and next-steps.ts.
      FOLIOPIPE_OF_WORKER: JSON.stringify(job.from),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // Undefined if the system has no room for another process or its pipes, although the types do not say so.
  const { stdout, stderr } = child;
  // The child emits no `close` after a `disconnect`, so its streams are waited for.
  const closed = Promise.all([stdout, stderr].map((stream) => stream && once(stream, 'close')));
  const ended = new Promise<RunEnd>((resolve) => {
    child.once('error', (error) => resolve(notStarted(error)));
    child.once('exit', async (exitCode, signal) => {
      await closed;
      const { run, hasReported } = reported;
      const error =
        reported.error && problemInJobWords(reported.error, exitCode, job, { file, host: hostname() });
      resolve({
        run,
        error,
        hasReported,
        ...(isKilled ? { exitCode: 143, signal: null } : { exitCode, signal }),
      });
    });
  }).finally(() => rmSync(file, { force: true }));
  if (stdout) readLines(stdout, (line) => rememberLine(line, reported));
  const inWords = (text: string, exitCode: unknown) => inJobWords(text, job, file, exitCode);
  if (stderr) readLines(stderr, (line) => passLog(line, pipeline, inWords, options.logger));
  return {
    ended,
    hasReported: () => reported.hasReported,
    stop: () => void (child.connected && child.disconnect()),
    kill: () => {
      isKilled = true;
      child.kill('SIGKILL');
    },
  };
}

interface Reported {
  run: string | null;
  error: RunEnd['error'];
  hasReported: boolean;
}

function commandOf({ flags }: RunJob, file: string, { logLevel }: StartOptions): readonly string[] {
  const output = ['--json', '--log-format', 'json', '--log-level', logLevel];
  return [process.argv[1]!, 'run', '-c', file, ...output, ...runArguments(flags)];
}

function endedRun(end: RunEnd): StartedRun {
  const nothing = () => undefined;
  return { ended: Promise.resolve(end), hasReported: () => true, stop: nothing, kill: nothing };
}

/** The end of a run whose process could not be started: the machine has no room for it now. */
function notStarted(cause: unknown): RunEnd {
  const why = cause instanceof Error ? cause.message : String(cause);
  const error = new TroubleError('RUN_NOT_STARTED', `the run cannot be started: ${why}`, { cause });
  return {
    exitCode: error.exitCode,
    signal: null,
    run: null,
    hasReported: true,
    error: describeProblem(error),
  };
}

function readLines(
  stream: Readable,
  onLine: (line: Readonly<Record<string, unknown>>, text: string) => void,
) {
  createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (text) => {
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch {
      // What Node itself says, such as that it is out of memory.
      line = { level: 40, msg: text };
    }
    if (typeof line === 'object' && line !== null) onLine(line as Readonly<Record<string, unknown>>, text);
  });
}

/** Keeps what a line of `--json` says about the run and its end. */
function rememberLine(line: Readonly<Record<string, unknown>>, reported: Reported): void {
  if (typeof line.run === 'string') reported.run = line.run;
  if (line.type !== 'summary') return;
  reported.hasReported = true;
  const error = line.error as RunEnd['error'] | undefined;
  if (error != null) {
    const { code, message, hint } = error;
    reported.error = { code, message, hint };
  }
}

const LEVELS: ReadonlyMap<unknown, 'debug' | 'info' | 'warn' | 'error'> = new Map([
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
]);

/** Copies a record of the run's log into the worker's log. */
function passLog(
  { level, time: _, msg, ...fields }: Readonly<Record<string, unknown>>,
  pipeline: string,
  inWords: (text: string, exitCode: unknown) => string,
  logger: Logger,
): void {
  // The worker logs the begin and the end of a run itself.
  const isKnown = fields.type === 'start' || fields.type === 'summary' || fields.code === 'INTERRUPTED';
  const shown = isKnown ? 'debug' : (LEVELS.get(level) ?? 'info');
  logger[shown]({ ...fields, pipeline }, `${pipeline}: ${inWords(String(msg), fields.exitCode)}`);
}
