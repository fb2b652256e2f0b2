/** Says an error to a person (what, where, what next) or as the last JSON line, and gives its exit code. */
import { FoliopipeError } from '../../pipelines/index.js';
import { writeJson } from './json-lines.js';

export function reportFailure(error: unknown, json: boolean): number {
  const known = error instanceof FoliopipeError ? error : undefined;
  const exitCode = known?.exitCode ?? 1;
  const message = error instanceof Error ? error.message : String(error);
  if (json) {
    const { code = 'UNEXPECTED', hint = null, facts = {} } = known ?? {};
    writeJson('summary', { exitCode, error: { code, message, hint, facts } });
  }
  process.stderr.write(failureText(error, known, message));
  return exitCode;
}

function failureText(error: unknown, known: FoliopipeError | undefined, message: string): string {
  if (known === undefined) {
    const stack = error instanceof Error ? (error.stack ?? message) : message;
    return `foliopipe: unexpected error, a bug: please report it\n${stack}\n`;
  }
  const next = known.hint === undefined ? '' : `\n  next: ${known.hint}`;
  return `foliopipe: ${message} [${known.code}]${next}\n`;
}
