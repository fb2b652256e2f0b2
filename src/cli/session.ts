/** Runs the work of a command, with everything around it: config, logger, signals, embedded service and progress. */
import {
  type AtFailpoint,
  type Config,
  findMove,
  type Logger,
  nextTerms,
  openStateReader,
  type Run,
  type RunOptions,
  type RunSummary,
  receiversOf,
  type ServiceNeeds,
  settingsToGoOn,
  sourceToGoOn,
  stateMissing,
  unfinishedRun,
} from '../../pipelines/index.js';
import { movedHint } from '../hints.js';
import { armFailpoint } from './arm-failpoint.js';
import { type CommonOptions, lockHolder, readConfig } from './common-options.js';
import { createLogger, warnLost } from './create-logger.js';
import { createEndNotifier } from './display/end-notifier.js';
import { openProgress, type Progress } from './display/progress.js';
import { createCommandTerminal } from './display/terminal.js';
import { standardInput, stderr, stdout, writeJson } from './output.js';
import { hideSecrets } from './redact.js';
import { listenForStop, stopText } from './stop-signals.js';
import {
  asStarted,
  nextSteps,
  rememberRehearsal,
  rememberRun,
  rememberStand,
  rememberUnfinished,
  typedArguments,
} from './texts/next-steps.js';
import { version } from './texts/page-paths.js';
import { reportFailure } from './texts/report-failure.js';
import { resumeCommand } from './texts/resume-command.js';
import { summaryText } from './texts/summary-text.js';
import { standOf, standText } from './texts/unfinished-text.js';
import { readTimeOptions, type TimeOptions } from './time-options.js';
import { type EmbeddedBehaviour, environmentProxies, openEmbeddedService } from './with-endpoint.js';

/** A pipeline, called with the options that the command line gives. */
export type CommandWork = (config: Config, options: RunOptions) => Promise<RunSummary>;

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

/** Runs a job and prints its summary. @returns the exit code. */
export async function runJob(
  options: CommonOptions & TimeOptions & { readonly limit?: number },
  file: string | undefined,
  job: CommandWork,
  how: JobTerms = {},
): Promise<number> {
  const { prepare } = how;
  return runSession<RunSummary>(options, file, {
    ...how,
    work: job,
    text: (summary, config) => summaryText(summary, nextTerms(config, prepare === undefined)),
    exitCode: (summary) => summary.exitCode ?? 0,
    // The end of a rehearsal or a sample is not reported: neither is the night's job.
    ...(!prepare && options.limit === undefined && { summaryOf: (summary: RunSummary) => summary }),
  });
}

/** How the work of a command differs from that of `run`. */
interface JobTerms {
  readonly prepare?: PrepareRehearsal | undefined;
  /** What the work needs of the service. Default: `service`. */
  readonly needs?: ServiceNeeds;
  /**
   * Whether the command names its run. The unfinished run of the pipeline may be another one, with other values: commands
   * in texts continue it with its own.
   */
  readonly isNamed?: boolean;
}

/** Work on a run, and the functions that show its result. */
interface SessionWork<T extends object> extends JobTerms {
  readonly work: (config: Config, options: RunOptions) => Promise<T>;
  readonly text: (result: T, config: Config) => string;
  /** Default: 0. */
  readonly exitCode?: (result: T) => number;
  /** Gets the summary from the result, to report the end of the run (`report`). Left out: the end is not reported. */
  readonly summaryOf?: (result: T) => RunSummary;
}

/** Does the work and prints its result. @returns the exit code. */
export async function runSession<T extends object>(
  options: CommonOptions & TimeOptions,
  file: string | undefined,
  { work, text, exitCode = () => 0, prepare, needs = 'service', isNamed = false, summaryOf }: SessionWork<T>,
): Promise<number> {
  const failpoint = armFailpoint(process.env.FOLIOPIPE_CRASH_AT);
  const given = await readConfig(options, file, needs);
  const terminal = createCommandTerminal(options);
  const logger = createLogger(options, terminal);
  logStart(logger, given);
  stdout.onLost((code) => warnLost(logger, 'stdout', code));
  const stop = listenForStop(
    (name) => logger.warn(stopText(name)),
    ({ code, exitCode, message }) => {
      const stand = standOf(progress.last());
      const soFar = stand === undefined ? '' : `. So far: ${standText(stand)}`;
      const next = stand === undefined ? '' : `. Go on with: ${asStarted(resumeCommand(typedArguments()))}`;
      terminal.show([]);
      logger.error(
        { type: 'failure', code, exitCode },
        `${message} again: this process ends at once${soFar}${next}`,
      );
    },
  );
  process.on('SIGCONT', terminal.forget);
  const proxies = environmentProxies(process.env);
  const notifier = summaryOf && createEndNotifier(given, { logger, proxies, signal: stop.signal });
  const progress = openProgress({ json: options.json === true, logger, terminal });
  let service: Awaited<ReturnType<typeof openEmbeddedService>>;
  try {
    const times = readTimeOptions(options, logger);
    const runOptions = { ...times, signal: stop.signal, logger, holder: lockHolder() };
    const prepared = await prepare?.(given, runOptions);
    const config = prepared?.config ?? given;
    if (prepared !== undefined) rememberRehearsal(config, given.state === null);
    if (needs !== 'nothing' && needs !== 'database')
      service = await openEmbeddedService(config, prepared?.service);
    if (isNamed) await rememberUnfinishedRun(config);
    const result = await work(config, {
      ...runOptions,
      proxies,
      stdin: standardInput,
      onProgress: (event) => {
        if (event.type === 'run') {
          rememberRun(event.run);
          notifier?.onRun(event.run);
        }
        progress.onProgress(event);
      },
      completeText: nextSteps,
      endpoint: service,
      measure: notifier?.measure,
      at: (point) => {
        failpoint?.(point);
        prepared?.at?.(point);
      },
    });
    const code = exitCode(result);
    // The block would end up among the lines of the summary.
    terminal.show([]);
    const shown = hideSecrets(nextSteps(text(result, config)));
    const fields: object = { type: 'summary', ...result, exitCode: code };
    logger.info(fields, shown.trimEnd());
    if (options.json) writeJson('summary', hideSecrets({ ...result, exitCode: code }));
    else if (options.logFormat !== 'json') stderr.write(shown);
    // A webhook may take its time: nobody has to wait for it to see the summary.
    if (notifier !== undefined) {
      showReporting(progress, given);
      await notifier.ended(summaryOf!(result), code);
    }
    return code;
  } catch (error) {
    const stand = standOf(progress.last());
    if (stand !== undefined) rememberStand({ fields: stand, text: standText(stand) });
    terminal.show([]);
    if (notifier === undefined) throw error;
    const code = reportFailure(error);
    showReporting(progress, given);
    await notifier.failed(error);
    return code;
  } finally {
    progress.close();
    process.off('SIGCONT', terminal.forget);
    await service?.close();
    stop.close();
  }
}

/** Shows what the command still waits for after its work has ended. */
function showReporting(progress: Progress, { report }: Config): void {
  const receivers = receiversOf(report);
  if (receivers.length > 0) progress.showStep(`reporting how the run ended: ${receivers.join(', ')}`);
}

/** Writes the first record of a log: the command, the version, and the config, in which secrets print as `[secret]`. */
function logStart(logger: Logger, config: Config): void {
  const command = typedArguments().slice(2).join(' ');
  logger.info(
    { type: 'start', version, node: process.version, pid: process.pid, command, config },
    `foliopipe ${version}: ${command}`,
  );
}

/** Opens a reader of the config's state. @throws ConfigError `STATE_MISSING` when there is none. */
export async function openState(config: Config) {
  // Comes first: if it fails, no reader is left open, which would keep the process from ending.
  await warnOfMove(config);
  const reader = await openStateReader(config);
  if (reader === undefined) throw stateMissing(config);
  return reader;
}

/** From now on, the commands in texts continue this unfinished run, with the values with which it began. */
export function rememberValues(config: Config, run: Run): void {
  const source = sourceToGoOn(config, run);
  rememberUnfinished(settingsToGoOn(config, run), { source, limit: run.source.limit });
}

/** As `rememberValues`, for a command that takes other values than those with which the unfinished run began. */
export async function rememberUnfinishedRun(config: Config): Promise<void> {
  const run = await unfinishedRun(config);
  if (run !== undefined) rememberValues(config, run);
}

/**
 * Says on stderr that a state was copied elsewhere, and that the command shows it as it was at that time.
 * @param what what the command does with the state, such as `what is backed up`.
 */
export async function warnOfMove(config: Config, what = 'what is shown'): Promise<void> {
  const moved = await findMove(config);
  if (moved === undefined) return;
  const { place, at } = moved;
  const when = `on ${new Date(at).toISOString()}`;
  stderr.write(
    `this state was copied to ${place} ${when}, and runs go on there; ${what} is how it was then\n` +
      nextSteps(`  next: ${movedHint(place)}, then: foliopipe status\n`),
  );
}
