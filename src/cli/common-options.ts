/** The flags that most commands share, and the config that they make. */
import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { type Config, ConfigError, loadConfig } from '../../pipelines/index.js';

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

const collect = (value: string, before: readonly string[] = []) => [...before, value];

/** Adds the flags that choose the config. */
export function withConfigOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'config file; repeatable, of two that set a key the later wins', collect)
    .option('--source <path>', 'source.path: a CSV file or a glob')
    .option('--output <file>', 'output.path: the enriched CSV')
    .option('--base-url <url>', "service.baseUrl: the service's address")
    .option('--state-dir <folder>', 'stateDir: where everything that survives a kill is kept')
    .option(
      '--set <key=value>',
      'any other key, for example --set chunks.maxRecords=500; repeatable',
      collect,
    );
}

/** Adds the flags that say how much is told, and where. */
export function withOutputOptions(command: Command): Command {
  return command
    .option('--json', 'objects a line each on stdout, the last one of type "summary"')
    .addOption(
      new Option('--log-level <level>', 'how much is told on stderr').choices(logLevels).default('info'),
    )
    .addOption(
      new Option('--log-format <format>', 'json: an object a line').choices(logFormats).default('text'),
    )
    .option('--log-file <file>', 'also write the log there, as JSON lines');
}

/**
 * @param file a config file given as an argument.
 * @throws ConfigError that lists every problem.
 */
export async function readConfig(options: CommonOptions, file?: string): Promise<Config> {
  const cwd = process.cwd();
  const named = [...(options.config ?? []), ...(file === undefined ? [] : [file])];
  const files = named.length > 0 ? named : existsSync(defaultFile) ? [defaultFile] : [];
  if (files.length === 0 && options.source === undefined) {
    throw new ConfigError('CONFIG_MISSING', `there is no ${defaultFile} here and no config file was named`, {
      hint: 'name one with -c FILE; config/nightly.example.yaml shows every key',
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
  return loadConfig({ files, env: process.env, overrides, cwd });
}

/**
 * Whoever leaves out the run of a command that wants one has named the config file in its place.
 * @throws ConfigError `USAGE`
 */
export function refuseFileAsRun(command: string, run: string, file: string | undefined): void {
  if (file !== undefined || !/\.(ya?ml|json)$/i.test(run)) return;
  throw new ConfigError('USAGE', `${command} wants a run: foliopipe ${command} RUN [FILE]`, {
    hint: 'see the runs with: foliopipe runs',
  });
}

const defaultFile = 'foliopipe.yaml';

function readSetting(text: string): { key: string; value: string; origin: string } {
  const at = text.indexOf('=');
  if (at <= 0) {
    throw new ConfigError('USAGE', `--set ${text}: expected key=value`, {
      hint: 'for example --set chunks.maxRecords=500',
    });
  }
  return { key: text.slice(0, at), value: text.slice(at + 1), origin: '--set' };
}

// How a command tells what the process ends with.

/** Told the exit code of a command that came to its end. */
export type Finish = (exitCode: number) => void;
