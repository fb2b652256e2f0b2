/** Reports an error (what, where, what to do next) as text, as a log record or as the last JSON line. */
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
import { asRehearsed, isRehearsal, resumeCommand } from './resume-command.js';

/**
 * @param argv as node gives it; the error may be that it cannot be parsed.
 * @returns the exit code.
 */
export function reportFailure(thrown: unknown, argv: readonly string[]): number {
  const error = thrown instanceof CommanderError ? usageError(thrown) : thrown;
  const known = error instanceof FoliopipeError ? error : undefined;
  const exitCode = known?.exitCode ?? 1;
  const message = error instanceof Error ? error.message : String(error);
  const { code = 'UNEXPECTED', facts = {} } = known ?? {};
  const next = known && hintOf(known);
  const hint = next === undefined ? null : asRehearsed(next, argv);
  const resume = needsResumeCommand(error, argv) ? resumeCommand(argv) : null;
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

/**
 * Whether the hint alone is not enough: after a signal, in a rehearsal, and where the same command would begin
 * another run.
 */
function needsResumeCommand(error: unknown, argv: readonly string[]): boolean {
  if (error instanceof InterruptedError) return true;
  const isResumable = error instanceof TroubleError || error instanceof DeadlineError;
  if (isRehearsal(argv)) return isResumable || needsPerson.some((kind) => error instanceof kind);
  return isResumable && argv.includes('--new');
}

/** After these errors a person has to correct something; then the same command goes on. */
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
  const index = argv.indexOf('--log-format');
  return argv.includes('--log-format=json') || (index >= 0 && argv[index + 1] === 'json');
}

/** Has the form of the logger's records of level error: the logger may not exist yet. */
function jsonRecord(fields: object, text: string): string {
  return `${JSON.stringify({ level: 50, time: Date.now(), ...fields, msg: text.trimEnd() })}\n`;
}
