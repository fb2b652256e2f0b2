/** Runs one command from its arguments to its exit code; the only place where an error becomes one. */
import { CommanderError } from 'commander';
import { createProgram } from './program.js';
import { reportFailure } from './report-failure.js';

/** @param argv as node gives it: the two first are skipped. */
export async function main(argv: readonly string[]): Promise<number> {
  const exit = { code: 0 };
  const program = createProgram((code) => {
    exit.code = code;
  });
  try {
    await program.parseAsync(argv);
    return exit.code;
  } catch (error) {
    // Commander has said it already: help and version end with 0, wrong usage with 2.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return reportFailure(error, argv.includes('--json'));
  }
}
