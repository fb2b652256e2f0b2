/**
 * Runs a script under this process's terminal, hands SIGHUP on to it as a shell does, and writes down how it ended:
 * node terminal-child.mjs END_FILE SCRIPT ARGUMENTS...
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const [endFile, ...words] = process.argv.slice(2);
const child = spawn(process.execPath, words, { stdio: 'inherit' });
process.on('SIGHUP', () => child.kill('SIGHUP'));
child.on('exit', (code, signal) => {
  writeFileSync(endFile, JSON.stringify({ code, signal }));
  // The terminal that Node would set back is gone.
  process.kill(process.pid, 'SIGKILL');
});
