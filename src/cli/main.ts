/** Runs one command from its arguments to its exit code; the only place where an error becomes one. */
import { CommanderError } from 'commander';
import { ConfigError } from '../../pipelines/index.js';
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
    if (!(error instanceof CommanderError)) return reportFailure(error, argv);
    // Help and version: commander has written them.
    if (error.exitCode === 0) return 0;
    return reportFailure(usageError(error), argv);
  }
}

function usageError({ code, message }: CommanderError): ConfigError {
  const what = code === 'commander.help' ? 'no command was given' : message.replace(/^error: /, '');
  return new ConfigError('USAGE', what, { hint: 'see the commands and flags with: foliopipe --help' });
}
