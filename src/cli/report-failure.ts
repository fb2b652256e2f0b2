/** Says an error (what, where, what next) to a person, as a log record or as the last JSON line; gives its exit code. */
import { CommanderError } from 'commander';
import {
  ConfigError,
  DeadlineError,
  FoliopipeError,
  InterruptedError,
  RefusedError,
  TroubleError,
  UntrustedError,
} from '../errors.js';
import { hintOf } from './hints.js';
import { stderr, writeJson } from './output.js';

/** @param argv as node gives it; the error may be that it cannot be parsed. */
export function reportFailure(thrown: unknown, argv: readonly string[]): number {
  const error = thrown instanceof CommanderError ? usageError(thrown) : thrown;
  const known = error instanceof FoliopipeError ? error : undefined;
  const exitCode = known?.exitCode ?? 1;
  const message = error instanceof Error ? error.message : String(error);
  const { code = 'UNEXPECTED', facts = {} } = known ?? {};
  const next = known && hintOf(known);
  const hint = next === undefined ? null : asRehearsed(next, argv);
  const resume = isResumedOtherwise(error, argv) ? resumeCommand(argv) : null;
  if (argv.includes('--json')) {
    writeJson('summary', { exitCode, error: { code, message, hint, resume, facts } });
  }
  const text = known === undefined ? bugText(error, message) : failureText(known, hint, resume);
  stderr.write(isJsonLog(argv) ? jsonRecord({ code, exitCode, hint, resume, facts }, text) : text);
  return exitCode;
}

function usageError({ code, message }: CommanderError): ConfigError {
  const what = code === 'commander.help' ? 'no command was given' : message.replace(/^error: /, '');
  return new ConfigError('USAGE', what, { hint: 'see the commands and flags with: foliopipe --help' });
}

/** Where the hint alone would not do: after a signal, where the same command would begin yet another run, and in a rehearsal. */
function isResumedOtherwise(error: unknown, argv: readonly string[]): boolean {
  if (error instanceof InterruptedError) return true;
  const goesOn = error instanceof TroubleError || error instanceof DeadlineError;
  if (isRehearsal(argv)) return goesOn || needsPerson.some((kind) => error instanceof kind);
  return goesOn && argv.includes('--new');
}

/** Errors after which the same command goes on once somebody else has mended something. */
const needsPerson = [RefusedError, UntrustedError];

function failureText(error: FoliopipeError, hint: string | null, resume: string | null): string {
  const next = hint === null ? '' : `\n  next: ${hint}`;
  const command = resume === null ? '' : `\n  go on with: ${resume}`;
  return `foliopipe: ${error.message} [${error.code}]${next}${command}\n`;
}

function bugText(error: unknown, message: string): string {
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  return `foliopipe: unexpected error, a bug: please report it\n${stack}\n`;
}

function isJsonLog(argv: readonly string[]): boolean {
  const at = argv.indexOf('--log-format');
  return argv.includes('--log-format=json') || (at >= 0 && argv[at + 1] === 'json');
}

/** As the logger writes one of level error; it may not exist yet. */
function jsonRecord(fields: object, text: string): string {
  return `${JSON.stringify({ level: 50, time: Date.now(), ...fields, msg: text.trimEnd() })}\n`;
}

// The command that goes on with what this one leaves unfinished, fit to be pasted into a shell.

/**
 * The same command without what is only for a new run: `--new` would begin yet another one and pay again.
 * @param argv as node gives it: the two first are skipped.
 * @param command another command to go on with, of the same config.
 */
export function resumeCommand(argv: readonly string[], command = argv[2]): string {
  const rest = argv.slice(3).filter((word, at, words) => {
    const isNew = word === '--new' || word === '--label' || word.startsWith('--label=');
    return !isNew && words[at - 1] !== '--label';
  });
  return ['foliopipe', ...(command === undefined ? [] : [command]), ...rest.map(quoteForShell)].join(' ');
}

export function isRehearsal(argv: readonly string[]): boolean {
  return argv.some((word) => word === '--rehearse' || word.startsWith('--rehearse='));
}

/** A hint for the command line that it is shown to: in a rehearsal, `foliopipe run` would mean the real job. */
export function asRehearsed(hint: string, argv: readonly string[]): string {
  // One that names the flag itself means no real job.
  if (!isRehearsal(argv) || hint.includes('--rehearse')) return hint;
  return hint.replaceAll(/\bfoliopipe run\b/g, () => resumeCommand(argv));
}

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
