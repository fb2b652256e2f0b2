/**
 * Runs a script in this process's terminal, forwards SIGHUP to it as a shell does, and writes its end to a file:
 * node terminal-child.mjs END_FILE SCRIPT ARGUMENTS...
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const [endFile, ...words] = process.argv.slice(2);
const child = spawn(process.execPath, words, { stdio: 'inherit' });
process.on('SIGHUP', () => child.kill('SIGHUP'));
child.on('exit', (code, signal) => {
  writeFileSync(endFile, JSON.stringify({ code, signal }));
  // Node would restore the settings of the terminal at its exit, but the terminal is closed.
  process.kill(process.pid, 'SIGKILL');
});
