/**
 * Completes the commands that texts name as the next step with the flags that were typed: a command that is copied from
 * a message must find the same config, source, output and state. A process runs one command, which is remembered here.
 */
import type { Command } from 'commander';
import type { Config } from '../../../pipelines/index.js';
import type { RunJob } from '../../fleet/job.js';
import { shownSetting } from '../../hide-secrets.js';
import {
  COMMANDS,
  type ConfigFlag,
  completeCommands,
  completeRehearsed,
  keyOf,
} from './complete-commands.js';
import { withPagePaths } from './page-paths.js';
import { isRehearsal, withoutNew } from './resume-command.js';

interface Typed {
  readonly argv: readonly string[];
  readonly flags: readonly ConfigFlag[];
  /** Flags that continue the unfinished run that the command is about. */
  ofRun: readonly ConfigFlag[];
  readonly isByNpm: boolean;
  /** Flags that name the state of the rehearsal. */
  ofRehearsal: readonly ConfigFlag[];
  /** The config of several that the command works on now; undefined while it works on none of them. */
  config: ConfigFlag | undefined;
  /** The run that the command works on; undefined while it is not known. */
  run: string | undefined;
  stand: RememberedStand | undefined;
}

/** The state of a failed command's run: as fields, and as a text. */
export interface RememberedStand {
  readonly fields: object;
  readonly text: string;
}

const nothingTyped: Typed = {
  argv: [],
  flags: [],
  ofRun: [],
  ofRehearsal: [],
  isByNpm: false,
  config: undefined,
  run: undefined,
  stand: undefined,
};

let typed = nothingTyped;

/** @param command the parsed command; undefined while it is not parsed. */
export function rememberCommand(argv: readonly string[], command?: Command): void {
  typed = {
    ...nothingTyped,
    argv,
    flags: flagsOfWorker(process.env) ?? (command === undefined ? [] : configFlags(command)),
    isByNpm: isStartedByNpm(process.env),
  };
}

/** The command line, as node gives it. */
export function typedArguments(): readonly string[] {
  return typed.argv;
}

/** From now on, the commands in texts name this config, one of several that were typed. */
export function rememberConfig(file: string): void {
  typed.config = { name: '-c', value: file };
}

/** The flags that choose the config that the command works on now. */
function knownFlags(): readonly ConfigFlag[] {
  const { flags, config, ofRun } = typed;
  return [...flags, ...(config === undefined ? [] : [config]), ...ofRun];
}

/**
 * From now on, the commands in texts continue this unfinished run.
 * @param settings the values with which it began, for `--set`, where the config has others now.
 * @param own `source`: the file that the run reads, if the config names another one; `limit`: of a sample.
 */
export function rememberUnfinished(
  settings: readonly string[],
  { source, limit }: { readonly source?: string | undefined; readonly limit?: number | undefined } = {},
): void {
  const all: readonly (readonly [ConfigFlag['name'], string | undefined])[] = [
    ['--source', source],
    ...settings.map((value) => ['--set', value] as const),
    ['--limit', limit?.toString()],
  ];
  typed.ofRun = all.flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value, isOfRun: true } as const],
  );
}

/**
 * From now on, those commands in texts that need only a state name that of the rehearsal.
 * @param isFolder whether the state of the real job is a folder too.
 */
export function rememberRehearsal(
  { stateDir, chunks }: Pick<Config, 'stateDir' | 'chunks'>,
  isFolder: boolean,
): void {
  const isOfState = (flag: ConfigFlag) => ['state', 'stateDir'].includes(keyOf(flag));
  const settings = ['service.embedded=true', ...(isFolder ? [] : ['state=null'])];
  typed.ofRehearsal = [
    ...typed.flags.filter((flag) => !isOfState(flag)),
    { name: '--state-dir', value: stateDir },
    ...settings.map((value) => ({ name: '--set', value }) as const),
    { name: '--set', value: `chunks.maxRecords=${chunks.maxRecords}`, isOfRun: true },
  ];
}

/** Remembers the run that the command has begun or continued: from now on, `--new` would begin another one. */
export function rememberRun(run: string): void {
  typed.run = run;
}

/** Remembers the state of the run for the report of a failure. */
export function rememberStand(stand: RememberedStand): void {
  typed.stand = stand;
}

export function rememberedStand(): RememberedStand | undefined {
  return typed.stand;
}

/** The run that the command works on; undefined before it is known. */
export function rememberedRun(): string | undefined {
  return typed.run;
}

/** Whether the same command would begin another run: it has begun one with `--new`. */
export function wouldBeginAnother(): boolean {
  return typed.run !== undefined && typed.argv.includes('--new');
}

/** Completes the commands and page paths in a text. Idempotent. */
export function nextSteps(text: string): string {
  const completed = isRehearsal(typed.argv)
    ? completeRehearsed(text, typed.ofRehearsal)
    : completeCommands(text, knownFlags());
  return withPagePaths(asStarted(wouldBeginAnother() ? withoutNew(completed) : completed));
}

/**
 * A hint as it is shown, with its further lines aligned below the first.
 * @param indent before `next:`.
 */
export function nextLines(hint: string, indent = '  '): string {
  return `${indent}next: ${hint.replaceAll('\n', `\n${indent}      `)}`;
}

/**
 * Puts `npx` before the commands in a text if npx or a script of a package.json has started this process: then the shell
 * does not find `foliopipe` itself. Idempotent.
 */
export function asStarted(text: string): string {
  return typed.isByNpm ? text.replaceAll(anyCommand, 'npx $&') : text;
}

const anyCommand = new RegExp(
  `(?<![\\w./-]|the next |npx )foliopipe (?=(?:${[...COMMANDS.keys(), '--help'].join('|')})(?![\\w-]))`,
  'g',
);

/** Whether npm was asked to start foliopipe itself, as `npm start` of a clone is, and not, for example, a test runner. */
function isStartedByNpm({ npm_command, npm_lifecycle_script = '' }: NodeJS.ProcessEnv): boolean {
  return (
    npm_command !== undefined &&
    /(?:^|[\s;&|'"])foliopipe(?:['"\s]|$)|\bbundle\/cli\.js\b/.test(npm_lifecycle_script)
  );
}

/** The config that `enqueue` is given, if it is exactly one; the argument may also name several, or pipelines. */
function onlyConfig(command: Command): unknown {
  const at = command.registeredArguments.findIndex((argument) => argument.name() === 'config');
  const { again, dismiss, remove } = command.opts<Partial<Record<string, boolean>>>();
  const named =
    at < 0 || again || dismiss || remove ? [] : (command.processedArgs[at] as readonly unknown[] | undefined);
  return named?.length === 1 ? named[0] : undefined;
}

/** Whether a worker has started this process. */
export function isOfWorker(): boolean {
  return process.env.FOLIOPIPE_OF_WORKER !== undefined;
}

/** The config of a job. Its run reads a temporary file of the worker, which the user cannot name. */
function flagsOfWorker({
  FOLIOPIPE_OF_WORKER: origin,
}: NodeJS.ProcessEnv): readonly ConfigFlag[] | undefined {
  return origin === undefined ? undefined : asFlags(JSON.parse(origin) as ConfigOrigin);
}

/** Where a config comes from: its files, and the values of `--set`. */
type ConfigOrigin = Pick<RunJob['from'], 'files' | 'settings'>;

/** A config as flags of a command. */
export function asFlags({ files, settings = [] }: ConfigOrigin): readonly ConfigFlag[] {
  return [
    ...files.map((value): ConfigFlag => ({ name: '-c', value })),
    ...settings.map((value): ConfigFlag => ({ name: '--set', value })),
  ];
}

/** The flags of a parsed command that choose its config, in the order in which they count. */
function configFlags(command: Command): ConfigFlag[] {
  // A command within another one, such as `runs prune`: the flags may stand before or after its name.
  const {
    config = [],
    set = [],
    ...given
  } = command.optsWithGlobals<Partial<Record<string, string & string[]>>>();
  const { limit } = command.opts<{ readonly limit?: number }>();
  const at = command.registeredArguments.findIndex((argument) => argument.name() === 'file');
  const file: unknown = at < 0 ? onlyConfig(command) : (command.processedArgs[at] ?? fileAsRun(command));
  const all: [ConfigFlag['name'], unknown][] = [
    ...[...config, file].map((value): [ConfigFlag['name'], unknown] => ['-c', value]),
    ['--source', given.source],
    // For `report`, --output is the page and not the output of a run.
    ['--output', command.name() === 'report' ? undefined : given.output],
    ['--base-url', given.baseUrl],
    ['--state-dir', given.stateDir],
    ...[...set].map((value): [ConfigFlag['name'], unknown] => ['--set', shownFlag(value)]),
    ['--limit', limit === undefined ? undefined : String(limit)],
  ];
  return all.flatMap(([name, value]) => (typeof value === 'string' ? [{ name, value }] : []));
}

/** The config file that was given where a run is expected, if the run was left out. */
function fileAsRun(command: Command): unknown {
  const at = command.registeredArguments.findIndex((argument) => argument.name() === 'run');
  const word: unknown = command.processedArgs[at];
  return typeof word === 'string' && isConfigName(word) ? word : undefined;
}

/** Whether an argument names a config file, and not a run. */
export function isConfigName(word: string): boolean {
  return /\.(ya?ml|json)$/i.test(word);
}

function shownFlag(text: string): string {
  const equals = text.indexOf('=');
  return equals < 0 ? text : shownSetting(text.slice(0, equals), text.slice(equals + 1));
}
