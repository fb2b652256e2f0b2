/** Lets the process end as it should when its terminal has been closed meanwhile. */
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';

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
