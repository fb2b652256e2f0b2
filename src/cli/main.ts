/** Runs one command from its arguments to its exit code; the only place where an error becomes one. */
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { CommanderError } from 'commander';
import { createProgram } from './program.js';

/** @param argv as node gives it: the two first are skipped. */
export async function main(argv: readonly string[]): Promise<number> {
  const exit = { code: 0 };
  try {
    const program = await createProgram(argv, (code) => {
      exit.code = code;
    });
    // At hand before any work begins: after a night the installation may be another one, or no file can be opened.
    program.hook('preAction', async () => void (await loadReport()));
    await program.parseAsync(argv);
    return exit.code;
  } catch (error) {
    // Help and version: commander has written them.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { reportFailure } = await loadReport();
    return reportFailure(error, argv);
  }
}

const loadReport = () => import('./report-failure.js');

// Lets the process end as it should when its terminal has been closed meanwhile.

/**
 * Node before 24 sets each terminal back at its end to what it was, and aborts where that fails, as it does on a closed
 * one (`ResetStdio` in its node.cc): 134 and a core in place of the exit code. It leaves a closed descriptor alone.
 */
export function forgetClosedTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  process.once('exit', () => {
    for (const descriptor of terminals) {
      // A closed terminal is none any more.
      if (!isatty(descriptor)) closeSync(descriptor);
    }
  });
}
