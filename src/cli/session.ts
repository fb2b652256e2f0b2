/** Runs the work of a command, with everything around it: config, logger, signals, embedded service and progress. */
import {
  type AtFailpoint,
  type Config,
  ConfigError,
  type Logger,
  openCheckpointReader,
  type RunOptions,
  type RunSummary,
  type ServiceNeeds,
} from '../../pipelines/index.js';
import { armFailpoint } from './arm-failpoint.js';
import { type CommonOptions, lockHolder, readConfig } from './common-options.js';
import { createLogger, secretsOf, warnLost } from './create-logger.js';
import { nextSteps, rememberRun } from './next-steps.js';
import { standardInput, stderr, stdout, writeJson } from './output.js';
import { openProgress } from './progress.js';
import { listenForStop, stopText } from './stop-signals.js';
import { summaryText } from './summary-text.js';
import { createTerminal } from './terminal.js';
import { readTimeOptions, type TimeOptions } from './time-options.js';
import { type EmbeddedBehaviour, environmentProxies, openEmbeddedService } from './with-api.js';

/** A pipeline, called with the options that the command line gives. */
export type Job = (config: Config, options: RunOptions) => Promise<RunSummary>;

/** Gives a rehearsal its config and service, from the config of the real job. */
export type PrepareRehearsal = (config: Config, options: PrepareOptions) => Promise<PreparedRehearsal>;

export interface PrepareOptions extends Pick<RunOptions, 'waitLock'> {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly holder: NonNullable<RunOptions['holder']>;
}

export interface PreparedRehearsal {
  readonly config: Config;
  readonly service: EmbeddedBehaviour;
  readonly at?: AtFailpoint;
}

/** Runs a job and prints its summary. @param needs what it needs of the service. @returns the exit code. */
export async function runJob(
  options: CommonOptions & TimeOptions,
  file: string | undefined,
  job: Job,
  prepare?: PrepareRehearsal,
  needs?: ServiceNeeds,
): Promise<number> {
  return runSession(options, file, {
    work: job,
    text: (summary, { failures }) =>
      summaryText(summary, {
        tolerate: failures.tolerate,
        mayRetry: prepare === undefined,
      }),
    exitCode: (summary) => summary.exitCode ?? 0,
    ...(prepare && { prepare }),
    ...(needs && { needs }),
  });
}

/** Work on a run, and the functions that show its result. */
export interface SessionWork<T extends object> {
  readonly work: (config: Config, options: RunOptions) => Promise<T>;
  readonly text: (result: T, config: Config) => string;
  readonly exitCode: (result: T) => number;
  readonly prepare?: PrepareRehearsal;
  /** What the work needs of the service. Default: `service`. */
  readonly needs?: ServiceNeeds;
}

/** Does the work and prints its result. @returns the exit code. */
export async function runSession<T extends object>(
  options: CommonOptions & TimeOptions,
  file: string | undefined,
  { work, text, exitCode, prepare, needs = 'service' }: SessionWork<T>,
): Promise<number> {
  const failpoint = armFailpoint(process.env.FOLIOPIPE_CRASH_AT);
  const given = await readConfig(options, file, needs);
  const terminal = createTerminal();
  const logger = createLogger(options, secretsOf(given), terminal);
  stdout.onLost((code) => warnLost(logger, 'stdout', code));
  const times = readTimeOptions(options, logger);
  const stop = listenForStop((name) => logger.warn(stopText(name)));
  const holder = lockHolder();
  const runOptions = { ...times, signal: stop.signal, logger, holder };
  const prepared = await prepare?.(given, runOptions);
  const config = prepared?.config ?? given;
  const service = needs !== 'nothing' ? await openEmbeddedService(config, prepared?.service) : undefined;
  const open = () => openCheckpointReader(config.stateDir);
  const progress = openProgress({ json: options.json === true, logger, terminal, open });
  try {
    const result = await work(config, {
      ...runOptions,
      proxies: environmentProxies(process.env),
      stdin: standardInput,
      onScan: progress.onScan,
      onCopy: progress.onCopy,
      onRun: (run) => {
        rememberRun();
        progress.onRun(run);
      },
      ...(service && { endpoint: service }),
      at: (point) => {
        failpoint?.(point);
        prepared?.at?.(point);
      },
    });
    await progress.close();
    const code = exitCode(result);
    const shown = nextSteps(text(result, config));
    if (options.json) writeJson('summary', { ...result, exitCode: code });
    else if (options.logFormat === 'json') {
      const fields: object = { type: 'summary', ...result };
      logger.info(fields, shown.trimEnd());
    } else stderr.write(shown);
    return code;
  } finally {
    await progress.close();
    await service?.close();
    stop.close();
  }
}

/** Opens a reader of the config's state. @throws ConfigError `STATE_MISSING` when nothing has been run yet. */
export async function openState(config: Config) {
  const reader = await openCheckpointReader(config.stateDir);
  if (reader !== undefined) return reader;
  throw new ConfigError('STATE_MISSING', `${config.stateDir} holds no state: nothing has been run yet`, {
    hint: 'begin with: foliopipe run; or name the folder with --state-dir',
  });
}
