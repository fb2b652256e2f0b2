/** Reports an error and the next step as text, as a log record or as the last JSON line. */
import { CommanderError } from 'commander';
import { diskError } from '../../disk-error.js';
import {
  ConfigError,
  DeadlineError,
  FoliopipeError,
  InterruptedError,
  RefusedError,
  TroubleError,
  UntrustedError,
} from '../../errors.js';
import { hintOf } from '../../hints.js';
import { safeJson } from '../../text.js';
import { openLogFile } from '../log-file.js';
import { stderr, writeJson } from '../output.js';
import { hideSecrets } from '../redact.js';
import { COMMANDS } from './complete-commands.js';
import {
  asStarted,
  isOfWorker,
  nextLines,
  nextSteps,
  type RememberedStand,
  rememberedRun,
  rememberedStand,
  typedArguments,
  wouldBeginAnother,
} from './next-steps.js';
import { asRehearsed, confirmCommand, isRehearsal, resumeCommand } from './resume-command.js';

/** @returns the exit code. */
export function reportFailure(thrown: unknown): number {
  const argv = typedArguments();
  const failure = describeFailure(thrown);
  const { error, known, exitCode, shown } = failure;
  const { code, message, hint, resume, facts } = shown;
  const stand = rememberedStand();
  const run = rememberedRun() ?? null;
  if (argv.includes('--json')) {
    writeJson('summary', { exitCode, run, stand: stand?.fields ?? null, error: shown });
  }
  const text = known === undefined ? bugText(error, message) : failureText(shown, stand);
  const record = jsonRecord(
    { type: 'failure', code, exitCode, run, stand: stand?.fields ?? null, hint, resume, facts },
    text,
  );
  stderr.write(flagValue(argv, '--log-format') === 'json' ? record : text);
  writeToLogFile(flagValue(argv, '--log-file'), record);
  return exitCode;
}

/** An error that ends a command, with its exit code and what is printed about it. */
export function describeFailure(thrown: unknown) {
  // It may be impossible to parse: then that is the error.
  const argv = typedArguments();
  const error = thrown instanceof CommanderError ? usageError(thrown, argv) : (diskError(thrown) ?? thrown);
  const known = error instanceof FoliopipeError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const { code = 'UNEXPECTED', facts = {} } = known ?? {};
  const next = known && hintOf(known);
  const hint =
    known === undefined || next === undefined
      ? null
      : withCommand(known, nextSteps(asRehearsed(next, argv)), argv);
  const resume = needsResumeCommand(error, argv) ? asStarted(resumeCommand(argv)) : null;
  const shown = hideSecrets({ code, message, hint, resume, facts });
  return { error, known, exitCode: known?.exitCode ?? 1, shown };
}

/**
 * Writes the whole command into a hint that asks for `--yes`, or for flags with the same command. It is part of the hint
 * and has no field, so that no program runs it without a person. A job has no command to type.
 */
function withCommand(
  { code, facts }: Pick<FoliopipeError, 'code' | 'facts'>,
  hint: string,
  argv: readonly string[],
): string {
  if (isOfWorker()) return hint;
  if (code === 'REUSE_MISS' || code === 'RUN_UNFINISHED_PAID') {
    return hint.replace('add --yes', () => `add --yes: ${asStarted(confirmCommand(argv))}`);
  }
  if (code !== 'CONFIG_FROZEN') return hint;
  return hint.replace(
    `the same command with ${facts.flags}`,
    () => `${asStarted(resumeCommand(argv))} ${facts.flags}`,
  );
}

function usageError({ code, message }: CommanderError, argv: readonly string[]): ConfigError {
  const sought = code === 'commander.help' ? wordAfterHelp(argv) : undefined;
  if (sought !== undefined) {
    return new ConfigError('USAGE', `unknown command '${sought}'`, {
      hint: usageHint('commander.unknownCommand', argv),
    });
  }
  const what = code === 'commander.help' ? 'no command was given' : message.replace(/^error: /, '');
  if (what.startsWith("unknown option '--token'") && argv[2] !== 'serve') {
    return new ConfigError('USAGE', what.replace('\n', ' '), { hint: TOKEN_HINT });
  }
  // commander puts a suggestion into a second line.
  return new ConfigError('USAGE', what.replace('\n', ' '), { hint: usageHint(code, argv) });
}

/** The word after `help`, as in `foliopipe help run` and `foliopipe state help copy`. */
function wordAfterHelp([, , ...words]: readonly string[]): string | undefined {
  const at = words.slice(0, 2).indexOf('help');
  return at < 0 ? undefined : words.slice(at + 1).find((word) => !word.startsWith('-'));
}

const TOKEN_HINT =
  'set the variable FOLIOPIPE_TOKEN, or name a file with service.tokenFile: all users of this machine can see what is typed';

/** Advice for too many arguments, for the commands whose argument is not a config. */
const SEVERAL: Readonly<Record<string, string>> = {
  init: 'several files are one source: name them by a pattern in quotes; ',
  serve: '',
};

function usageHint(code: string, [, , word = '', second = '']: readonly string[]): string {
  const own = COMMANDS.get(word) ?? [];
  const command = own.includes(second) ? `${word} ${second}` : word;
  const isKnown = /^[a-z]+$/.test(word) && (code !== 'commander.unknownCommand' || own.length > 0);
  if (!isKnown) return 'see the commands with: foliopipe --help';
  const several =
    code === 'commander.excessArguments' ? (SEVERAL[word] ?? 'name several configs with a -c each; ') : '';
  return `${several}see arguments and flags with: foliopipe ${command} --help`;
}

/**
 * Whether the user needs the resume command besides the hint: after a signal, in a rehearsal, and if the same command
 * would begin another run. Not if the run is no longer in the state, because then every `foliopipe run` begins another.
 */
function needsResumeCommand(error: unknown, argv: readonly string[]): boolean {
  if (error instanceof InterruptedError) return true;
  if (error instanceof ConfigError && error.code === 'RUN_GONE') return false;
  const isResumable = error instanceof TroubleError || error instanceof DeadlineError;
  if (isRehearsal(argv)) return isResumable || needsPerson.some((kind) => error instanceof kind);
  return error instanceof FoliopipeError && wouldBeginAnother();
}

/** After these errors a person must correct something. Then the same command continues. */
const needsPerson = [RefusedError, UntrustedError];

function failureText(
  { code, message, hint, resume }: ReturnType<typeof describeFailure>['shown'],
  stand: RememberedStand | undefined,
): string {
  const left = stand === undefined ? '' : `\n  so far: ${stand.text}`;
  // The resume command says the same, and can be copied.
  const isSaid = code === 'INTERRUPTED' && resume !== null;
  const next = hint === null || isSaid ? '' : `\n${nextLines(hint)}`;
  const command = resume === null ? '' : `\n  go on with: ${resume}`;
  return `foliopipe: ${message} [${code}]${next}${left}${command}\n`;
}

function bugText(error: unknown, message: string): string {
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  return `foliopipe: unexpected error, a bug: please report it\n${hideSecrets(stack)}\n`;
}

/** The value of a flag, of a command line that may be impossible to parse. */
function flagValue(argv: readonly string[], flag: string): string | undefined {
  const joined = argv.find((word) => word.startsWith(`${flag}=`));
  if (joined !== undefined) return joined.slice(flag.length + 1);
  const index = argv.indexOf(flag);
  return index < 0 ? undefined : argv[index + 1];
}

/** Opens the file again, because the command's logger may not exist yet. A failure to write must not hide the error. */
function writeToLogFile(path: string | undefined, record: string): void {
  if (path === undefined) return;
  try {
    openLogFile(path, () => undefined).write(record);
  } catch {
    // The failure is on stderr; that the log cannot be opened is usually the failure itself.
  }
}

/** A record in the logger's form, with level error. The logger itself may not exist yet. */
function jsonRecord(fields: object, text: string): string {
  return `${safeJson({ level: 50, time: Date.now(), ...fields, msg: text.trimEnd() })}\n`;
}
