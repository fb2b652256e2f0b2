/** The flags that most commands share, and the config that follows from them. */
import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type Config,
  ConfigError,
  loadConfig,
  type RunOptions,
  type ServiceNeeds,
} from '../../pipelines/index.js';
import { OF_WORKER } from '../fleet/job.js';
import { secretsOf } from '../hide-secrets.js';
import { rememberSecrets } from './redact.js';
import { refuseSourceAsConfig } from './source-as-config.js';
import { isConfigName, isOfWorker } from './texts/next-steps.js';

/** Sets the exit code of the process. A command that does not call it ends with 0. */
export type Finish = (exitCode: number) => void;

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const logFormats = ['text', 'json'] as const;

export interface CommonOptions {
  readonly config?: readonly string[];
  readonly source?: string;
  readonly output?: string;
  readonly baseUrl?: string;
  readonly stateDir?: string;
  readonly set?: readonly string[];
  readonly json?: boolean;
  readonly logLevel: (typeof logLevels)[number];
  readonly logFormat: (typeof logFormats)[number];
  readonly logFile?: string;
}

/** Adds the flags that choose the config. */
export function withConfigOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'config file; repeatable: a later file overrides an earlier one', collect)
    .option('--source <path>', 'source.path: a CSV or Parquet file, a glob, or - for standard input')
    .option('--output <file>', 'output.path: the enriched CSV')
    .option('--base-url <url>', "service.baseUrl: the service's address")
    .option('--state-dir <folder>', 'stateDir: the folder with everything that must survive a kill')
    .option(
      '--set <key=value>',
      'any other key, for example --set chunks.maxRecords=500; repeatable',
      collect,
    );
}

/** The flags of the commands that may begin a run. */
export interface BeginOptions {
  readonly new?: boolean;
  readonly label?: string;
  /** `false` with `--no-reuse`; `true` without it. */
  readonly reuse?: boolean;
  readonly yes?: boolean;
  readonly limit?: number;
}

/** Adds the flags of the commands that may begin a run, or plan one. */
export function withBeginOptions(command: Command): Command {
  return withLimitOption(command)
    .option(
      '--no-reuse',
      "take no answers of earlier runs and pay for every record; this run's answers are kept",
    )
    .option(
      '--yes',
      'go ahead where foliopipe would ask before it pays: reuse.maxMiss, room on the disks, --new that gives up paid records, a foreign file at output.path, a restored or old state',
    );
}

/** Adds the flags of a new run, for the commands that begin one. */
export function withNewOptions(command: Command): Command {
  return command
    .option('--new', 'begin a new run even if one is unfinished or done; it is paid for again')
    .option('--label <text>', 'a note kept with a new run');
}

/** Adds the flag that makes a run a sample. */
export function withLimitOption(command: Command): Command {
  return command.option(
    '--limit <records>',
    'a sample: a separate run of only the first records of the source, into <output>.sample.csv',
    recordCount,
  );
}

function recordCount(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number of records from 1');
}

/** The flags as options of a run. */
export function beginOptions({
  new: fresh = false,
  reuse,
  yes = false,
  limit,
  label,
}: BeginOptions): Pick<RunOptions, 'fresh' | 'reuse' | 'yes' | 'limit' | 'label'> {
  return { fresh, yes, reuse: reuse === false ? reuse : undefined, limit, label };
}

/** Adds the flags that choose what is printed and logged, and where. */
export function withOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON to stdout, one object per line; the last one has the type "summary"')
    .addOption(
      new Option('--log-level <level>', 'the lowest level that is logged').choices(logLevels).default('info'),
    )
    .addOption(
      new Option('--log-format <format>', 'log as text, or as JSON with one object per line')
        .choices(logFormats)
        .default('text'),
    )
    .option('--log-file <file>', 'also write the log into this file, as JSON lines');
}

/** Adds the flags that choose the config, then those that choose what is printed. */
export function withCommonOptions(command: Command): Command {
  return withOutputOptions(withConfigOptions(command));
}

/**
 * Loads the config from files, environment and flags.
 * @param file a config file given as an argument.
 * @param needs what the command needs of the service.
 * @throws ConfigError `CONFIG_MISSING` without any file or source, else as `loadConfig` does.
 */
export async function readConfig(
  options: CommonOptions,
  file?: string,
  needs: ServiceNeeds = 'service',
): Promise<Config> {
  const config = await loadConfig(layersOf(options, file, needs));
  rememberSecrets(secretsOf(config));
  return config;
}

/**
 * The places that the config is loaded from.
 * @param mayBeMissing whether the environment may be the only one.
 * @throws ConfigError `CONFIG_MISSING`; `CONFIG_IS_SOURCE`.
 */
export function layersOf(
  options: CommonOptions,
  file: string | undefined,
  needs: ServiceNeeds,
  mayBeMissing = false,
): Parameters<typeof loadConfig>[0] {
  const cwd = process.cwd();
  const named = [...(options.config ?? []), ...(file === undefined ? [] : [file])];
  for (const name of named) refuseSourceAsConfig(name);
  const files = named.length > 0 ? named : existsSync(DEFAULT_FILE) ? [DEFAULT_FILE] : [];
  if (files.length === 0 && options.source === undefined && !mayBeMissing) {
    throw new ConfigError('CONFIG_MISSING', `there is no ${DEFAULT_FILE} here and no config file was named`, {
      hint: 'name one with -c FILE, or write a first one with: foliopipe init; config/nightly.example.yaml shows every key',
    });
  }
  const flags = [
    { key: 'source.path', value: options.source, origin: '--source' },
    { key: 'output.path', value: options.output, origin: '--output' },
    { key: 'service.baseUrl', value: options.baseUrl, origin: '--base-url' },
    { key: 'stateDir', value: options.stateDir, origin: '--state-dir' },
    ...(options.set ?? []).map(readSetting),
  ];
  const overrides = flags.flatMap(({ value, ...flag }) =>
    value === undefined ? [] : [{ ...flag, value, baseDir: cwd }],
  );
  const ownFiles = options.logFile === undefined ? [] : [options.logFile];
  return { files, env: process.env, overrides, cwd, needs, ownFiles };
}

/**
 * Rejects a config file where a run is expected: the user has left the run out.
 * @throws ConfigError `USAGE`.
 */
export function refuseFileAsRun(command: string, run: string, file: string | undefined): void {
  if (file !== undefined || !isConfigName(run)) return;
  throw new ConfigError('USAGE', `${command} needs a run: foliopipe ${command} RUN [FILE]`, {
    hint: 'see the runs with: foliopipe runs',
  });
}

/** The arguments `[run] [file]`. If only a config file is given, the run is `last`. */
export function runAndFile(first = 'last', second: string | undefined): [string, string | undefined] {
  return second === undefined && isConfigName(first) ? ['last', first] : [first, second];
}

/** This process as the holder of a lock, for the message to processes that want it. */
export function lockHolder(): NonNullable<RunOptions['holder']> {
  const command = isOfWorker() ? OF_WORKER : process.argv.slice(2).join(' ');
  return { pid: process.pid, command };
}

/** Reads a flag's whole number. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`);
  };
}

/** Reads the value of `--chunk`. */
export function chunkNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number from 1');
}

/** The error for wrong arguments. */
export function usage(message: string, hint: string): ConfigError {
  return new ConfigError('USAGE', message, { hint });
}

/** The config that is read if none is named. */
export const DEFAULT_FILE = 'foliopipe.yaml';

/** Collects the values of a flag that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function readSetting(text: string): { key: string; value: string; origin: string } {
  const equals = text.indexOf('=');
  if (equals <= 0) {
    throw new ConfigError('USAGE', `--set ${text}: expected key=value`, {
      hint: 'for example --set chunks.maxRecords=500',
    });
  }
  return { key: text.slice(0, equals), value: text.slice(equals + 1), origin: '--set' };
}
