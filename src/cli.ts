#!/usr/bin/env node
/**
 * The command `foliopipe`: runs `main` and sets the exit code of the process. Loads the rest of the program only within
 * `start`, so that a limit of open files that is too low for that is reported, too.
 */
import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

const TOO_FEW_FILES = {
  code: 'OPEN_FILES_LIMIT',
  message: 'the limit of open files is too low to load the program; nothing was sent',
  hint: 'raise it, for example with: ulimit -n 1024 (LimitNOFILE= of a systemd unit), then run the same command again',
  resume: null,
  facts: {},
};

// A run's objects are short-lived. A small young generation saves 30 MB of memory and costs no time.
setFlagsFromString('--semi-space-growth-factor=1');
// The few that survive would let the old generation grow to four times what is in use, with thousands of small chunks.
// With 60 in place of 30, a run takes 3 MB more and no less time.
setFlagsFromString('--heap-growing-percent=30');
// V8's baseline compiler takes 3 to 6 MB for its code, and saves no time.
setFlagsFromString('--no-sparkplug');
// Most code runs a few hundred times in a run. Node 20 optimizes it then, which costs more than it saves; newer versions
// wait longer. A loop over records reaches eight times the usual budget within its first chunks.
if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=540672');

process.exitCode = await start().catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error;
  const { code, message, hint } = TOO_FEW_FILES;
  if (process.argv.includes('--json')) {
    const summary = { type: 'summary', exitCode: 2, run: null, stand: null, error: TOO_FEW_FILES };
    writeSync(1, `${JSON.stringify(summary)}\n`);
  }
  writeSync(2, `foliopipe: ${message} [${code}]\n  next: ${hint}\n`);
  return 2;
});

async function start(): Promise<number> {
  const { main, releaseClosedTerminal } = await import('./cli/main.js');
  releaseClosedTerminal();
  return main(process.argv);
}
