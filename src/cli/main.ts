/** Runs one command, from its arguments to its exit code. Only this file turns an error into an exit code. */
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { CommanderError } from 'commander';
import { stderr } from './output.js';
import { createProgram, firstSteps } from './program.js';
import { rememberSecrets } from './redact.js';
import { asStarted, rememberCommand } from './texts/next-steps.js';

/** @param argv as node gives it: the first two are skipped. */
export async function main(typed: readonly string[]): Promise<number> {
  const argv = withoutColorFlag(typed);
  const exit = { code: 0 };
  rememberCommand(argv);
  rememberSecrets();
  try {
    if (process.env.FOLIOPIPE_LEASE_MS) await shortenLeases(process.env.FOLIOPIPE_LEASE_MS);
    if (argv.length <= 2) showFirstSteps();
    const program = await createProgram(argv, (code) => {
      exit.code = code;
    });
    // Loads this before any work: hours later the installation may have changed, or the limit of open files is reached.
    program.hook('preAction', async (_, command) => {
      rememberCommand(argv, command);
      await loadReport();
    });
    await program.parseAsync(argv);
    return exit.code;
  } catch (error) {
    // Help and version: commander has printed them.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { reportFailure } = await loadReport();
    return reportFailure(error);
  }
}

/** Only for tests and proofs. The import is dynamic, so that other commands load no code for a database. */
async function shortenLeases(text: string): Promise<void> {
  const { useLeases } = await import('../fleet/times.js');
  useLeases(text);
}

/** `--no-color` is the variable NO_COLOR as a flag, which every command takes. */
function withoutColorFlag(argv: readonly string[]): readonly string[] {
  if (!argv.includes('--no-color')) return argv;
  process.env.NO_COLOR = '1';
  return argv.filter((word) => word !== '--no-color');
}

/** @throws CommanderError, which is reported as wrong usage. */
function showFirstSteps(): never {
  stderr.write(asStarted(`${firstSteps}\n`));
  throw new CommanderError(2, 'commander.help', 'no command was given');
}

const loadReport = () => import('./texts/report-failure.js');

/**
 * Lets the process end with its exit code after its terminal was closed. Before version 24, Node restores each terminal
 * when it exits. On a closed terminal this fails, and Node aborts with exit code 134 and a core dump (`ResetStdio` in
 * its node.cc). Node skips closed descriptors, so this function closes the descriptors of closed terminals first.
 */
export function releaseClosedTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  process.once('exit', () => {
    for (const descriptor of terminals) {
      // A closed terminal is not a terminal any more.
      if (!isatty(descriptor)) closeSync(descriptor);
    }
  });
}
