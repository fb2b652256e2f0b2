/** Says an error (what, where, what next) to a person, as a log record or as the last JSON line; gives its exit code. */
import { DeadlineError, FoliopipeError, InterruptedError, TroubleError } from '../../pipelines/index.js';
import { writeJson } from './json-lines.js';
import { resumeCommand } from './resume-command.js';

/** @param argv as node gives it; the error may be that it cannot be parsed. */
export function reportFailure(error: unknown, argv: readonly string[]): number {
  const known = error instanceof FoliopipeError ? error : undefined;
  const exitCode = known?.exitCode ?? 1;
  const message = error instanceof Error ? error.message : String(error);
  const { code = 'UNEXPECTED', hint = null, facts = {} } = known ?? {};
  const resume = isResumedOtherwise(error, argv) ? resumeCommand(argv) : null;
  if (argv.includes('--json')) {
    writeJson('summary', { exitCode, error: { code, message, hint, resume, facts } });
  }
  const text = known === undefined ? bugText(error, message) : failureText(known, resume);
  process.stderr.write(isJsonLog(argv) ? jsonRecord({ code, exitCode, hint, resume, facts }, text) : text);
  return exitCode;
}

/** Where the hint alone would not do: after a signal, and where the same command would begin yet another run. */
function isResumedOtherwise(error: unknown, argv: readonly string[]): boolean {
  if (error instanceof InterruptedError) return true;
  const goesOn = error instanceof TroubleError || error instanceof DeadlineError;
  return goesOn && argv.includes('--new');
}

function failureText(error: FoliopipeError, resume: string | null): string {
  const next = error.hint === undefined ? '' : `\n  next: ${error.hint}`;
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
