/** `foliopipe init`: looks at a CSV and writes a first config for it. */
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '../../../pipelines/index.js';
import { diskError } from '../../disk-error.js';
import { escapeUnprintable, quoteForShell } from '../../text.js';
import { DEFAULT_FILE } from '../common-options.js';
import { type Ask, isInteractive, withQuestions } from '../init/ask.js';
import {
  chooseColumns,
  choosePlaces,
  findSource,
  type InitFlags,
  refuseWrongPlaces,
} from '../init/choose.js';
import { configText, EDIT, type FirstConfig, pipelineName } from '../init/config-text.js';
import { type FoundSource, findFormat } from '../init/find-format.js';
import type { Guesses } from '../init/guess-columns.js';
import { type FormatFlags, foundLines, foundText, guessLines, type LookFormat } from '../init/look.js';
import { stderr, writeJson } from '../output.js';
import { withStopSignal } from '../stop-signals.js';
import { asStarted } from '../texts/next-steps.js';
import { version } from '../texts/page-paths.js';

interface Options extends InitFlags {
  readonly config?: readonly string[];
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function addInit(command: Command): void {
  command
    .argument(
      '[csv]',
      'the source: a CSV or Parquet file, or a pattern; default: the only such file here or in data/',
    )
    .option('-c, --config <file>', 'the config to write (default: foliopipe.yaml)', (file) => [file])
    .option('--force', 'replace an existing config')
    .option('--yes', 'ask nothing, accept all guesses')
    .option('--name <column>', 'the column with the name of the business')
    .option('--address <column>', 'the column with its address')
    .option('--state <column>', 'the column with its state')
    .option('--delimiter <character>', 'source.delimiter, if the detected one is wrong')
    .option('--encoding <name>', 'source.encoding, if the detected one is wrong')
    .option('--skip-lines <lines>', 'source.skipLines: lines before the header', lineCount)
    .option(
      '--header <names>',
      'source.header: names with commas between them, for a file without a header; none: the same with made-up names; first: the first line is the header, whatever it looks like; rename: like first, and number doubled names',
    )
    .option('--output <file>', 'output.path: the enriched CSV')
    .option('--base-url <url>', "service.baseUrl: the service's address")
    .option('--json', 'print what was found and written as JSON')
    .action(async (csv: string | undefined, options: Options) => {
      const mayAsk = isInteractive() && !options.yes && !options.json;
      const write = (ask?: Ask) => withStopSignal((signal) => writeConfig(csv, options, signal, ask));
      await (mayAsk ? withQuestions(write) : write());
    });
}

async function writeConfig(
  csv: string | undefined,
  options: Options,
  signal: AbortSignal,
  ask: Ask | undefined,
): Promise<void> {
  const file = options.config?.at(-1) ?? DEFAULT_FILE;
  if (existsSync(file) && !options.force) throw existsError(file);
  refuseOtherKinds(file);
  refuseWrongPlaces(options);
  const path = csv ?? (await findSource(ask));
  const { found, format = {} } =
    path === undefined
      ? {}
      : await findFormat(path, formatFlags(options), signal, ask, asTyped(path, file, options));
  if (found !== undefined) stderr.write(foundLines(path!, found));
  const typed = path === undefined ? '' : argumentsOf(path, file, format, options);
  const forced = options.force ? `${typed} --force` : typed;
  const guesses = found === undefined ? {} : await chooseColumns(path!, found, options, forced, ask);
  if (found !== undefined && ask === undefined) {
    stderr.write(asStarted(guessLines(guesses, `foliopipe init ${typed}`)));
  }
  const pipeline = pipelineName(path ?? '');
  const places = await choosePlaces(pipeline, options, ask);
  const config = configFor(file, path, found && { found, format }, guesses, pipeline, places, options);
  await write(file, configText(config), options.force === true);
  if (options.json) writeJson('summary', { ...summaryOf(file, config, guesses), exitCode: 0 });
  stderr.write(asStarted(nextText(file, config)));
}

function formatFlags({ delimiter, encoding, skipLines, header }: FormatFlags) {
  return { delimiter, encoding, skipLines, header };
}

/** The command as it was typed, for a file whose format is not known yet. */
function asTyped(path: string, file: string, options: Options): string {
  const { name, address, state, force } = options;
  const columns = Object.entries({ name, address, state }).flatMap(([flag, column]) =>
    column === undefined ? [] : [`--${flag} ${quoteForShell(escapeUnprintable(column))}`],
  );
  const rest = [...columns, ...(force ? ['--force'] : [])];
  return ['foliopipe init', argumentsOf(path, file, formatFlags(options), options), ...rest].join(' ');
}

/** The arguments of the command to type again. */
function argumentsOf(
  path: string,
  file: string,
  { delimiter, encoding, skipLines }: Pick<LookFormat, 'delimiter' | 'encoding' | 'skipLines'>,
  flags: InitFlags,
) {
  const { header, output, baseUrl } = flags;
  const all: readonly (readonly [string, string | undefined])[] = [
    ['-c', file === DEFAULT_FILE ? undefined : file],
    ['--delimiter', delimiter],
    ['--encoding', encoding],
    ['--skip-lines', skipLines?.toString()],
    ['--header', header],
    ['--output', output],
    ['--base-url', baseUrl],
  ];
  const given = all.flatMap(([flag, value]) => (value === undefined ? [] : [flag, quoteForShell(value)]));
  return [quoteForShell(escapeUnprintable(path)), ...given].join(' ');
}

function lineCount(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number from 0');
}

function configFor(
  file: string,
  path: string | undefined,
  source: FoundSource | undefined,
  guesses: Guesses,
  pipeline: string,
  places: Pick<FirstConfig, 'baseUrl' | 'output'>,
  flags: InitFlags,
): FirstConfig {
  const folder = dirname(resolve(file));
  const fromConfig = (name: string) => {
    if (isAbsolute(name) || /^\w+:\/\//.test(name) || folder === process.cwd()) return name;
    const path = relative(folder, resolve(name)).replaceAll('\\', '/');
    return name.endsWith('/') ? `${path}/` : path;
  };
  const columns = Object.fromEntries(Object.entries(guesses).map(([sent, { column }]) => [sent, column]));
  return {
    pipeline,
    source: path === undefined ? 'data/businesses.csv' : fromConfig(path),
    found: source && foundText(source.found),
    format: source?.format ?? {},
    columns: source === undefined ? { name: 'BusinessName', address: 'Address', state: 'State' } : columns,
    baseUrl: places.baseUrl,
    output: places.output === flags.output ? fromConfig(places.output) : places.output,
    schema: schemaOf(folder),
    isExample: source === undefined,
  };
}

/** The schema of the installed package, if it is installed beside the config; else that of its registry. */
function schemaOf(folder: string): string {
  const installed = './node_modules/foliopipe/config/schema.json';
  if (existsSync(join(folder, installed))) return installed;
  return `https://unpkg.com/foliopipe@${version}/config/schema.json`;
}

/** Refuses a pipe, because a write would wait without end, and a link, because a file would replace it. */
function refuseOtherKinds(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  throw new ConfigError('CONFIG_UNWRITABLE', `${file} cannot be written: it is not a regular file`, {
    hint: 'name another file: foliopipe init -c FILE',
    facts: { file },
  });
}

/** Replaces a config by a rename, so that a complete file is there at every moment. */
async function write(file: string, text: string, force: boolean): Promise<void> {
  try {
    if (!force) return await writeFile(file, text, { flag: 'wx' });
    const beside = `${file}.${randomUUID()}.tmp`;
    try {
      await writeFile(beside, text, { flag: 'wx' });
      await rename(beside, file);
    } finally {
      await rm(beside, { force: true });
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw existsError(file);
    throw new ConfigError('CONFIG_UNWRITABLE', `${file} cannot be written: ${whyUnwritten(file, cause)}`, {
      hint: 'name another file: foliopipe init -c FILE',
      facts: { file },
      cause,
    });
  }
}

function whyUnwritten(file: string, cause: unknown): string {
  const folder = dirname(file);
  if (!existsSync(folder)) return `there is no folder ${folder}`;
  return diskError(cause, file)?.message ?? String(cause);
}

function existsError(file: string): ConfigError {
  return new ConfigError('CONFIG_EXISTS', `${file} exists already, and is not replaced`, {
    hint: 'write another one: foliopipe init -c FILE; or replace it with --force',
    facts: { file },
  });
}

function summaryOf(file: string, { source, columns, baseUrl, isExample }: FirstConfig, guesses: Guesses) {
  const missing = [...(baseUrl === undefined ? ['service.baseUrl'] : []), 'service.token'];
  return { config: file, source, columns, guesses, isExample, missing };
}

/** What to type next. */
function nextText(file: string, { baseUrl, isExample }: FirstConfig): string {
  const flag = file === DEFAULT_FILE ? '' : ` -c ${quoteForShell(file)}`;
  const trial = '--limit 100 --set service.embedded=true --set failures.tolerate=100%';
  const steps: (readonly [string, string])[] = [
    [`foliopipe plan${flag}`, 'checks the file; shows the first records as they are sent, and the cost'],
    [`foliopipe run${flag} ${trial}`, 'tries 100 records with the local service, without an account'],
    ...(baseUrl === undefined
      ? [
          [
            'export FOLIOPIPE_BASE_URL=https://...',
            'the address of the service; or write it into the config',
          ] as const,
        ]
      : []),
    ['export FOLIOPIPE_TOKEN=...', 'the token of the service'],
    [`foliopipe check${flag}`, 'asks service and token, and pays nothing'],
    [`foliopipe run${flag} --limit 100`, 'a sample, to look at real answers'],
    [`foliopipe run${flag}`, 'all of it; after an interruption the same command goes on'],
  ];
  const edit = isExample
    ? `There is no CSV here, so source and columns in it are examples: replace what follows ${EDIT}\n`
    : '';
  const lines = steps.map(([command, what]) => `  ${command}\n      ${what}`);
  return `wrote ${file}\n${edit}next:\n${lines.join('\n')}\n`;
}
