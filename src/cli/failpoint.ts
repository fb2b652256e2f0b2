/**
 * Arms a crash point from outside: `FOLIOPIPE_CRASH_AT=point[:n][:how]` strikes when the process passes it for the
 * n-th time. `kill` ends the process, `term` and `hup` ask it to stop, `full` leaves no room on the disk of
 * `FOLIOPIPE_FILL`.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { type AtCrashPoint, ConfigError, crashPoints } from '../../pipelines/index.js';

/** @param fill the file that `full` lets grow. @throws ConfigError when what is armed makes no sense. */
export function crashAt(
  armed: string | undefined,
  fill = process.env.FOLIOPIPE_FILL,
): AtCrashPoint | undefined {
  if (armed === undefined || armed === '') return undefined;
  const [name, ...rest] = armed.split(':');
  const how = /^\D/.test(rest.at(-1) ?? '') ? rest.pop()! : 'kill';
  const [count = '1', ...more] = rest;
  if (!crashPoints.some((point) => point === name)) {
    throw refused(`there is no crash point ${name}`, `one of ${crashPoints.join(', ')}`);
  }
  if (!/^[1-9]\d*$/.test(count) || more.length > 0) {
    throw refused(`${rest.join(':')} is no number of a passing`, 'write point:n:how, with n from 1');
  }
  const strike = Object.hasOwn(strikes, how) ? strikes[how] : undefined;
  if (strike === undefined) throw refused(`${how} is no way to strike`, 'write kill, term, hup or full');
  if (how === 'full' && !fill) throw refused('full needs a file to grow: FOLIOPIPE_FILL', 'name one');
  let left = Number(count);
  return (point) => {
    if (point !== name) return;
    left -= 1;
    if (left === 0) strike(fill!);
  };
}

const strikes: Readonly<Record<string, (fill: string) => void>> = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  term: () => void process.kill(process.pid, 'SIGTERM'),
  hup: () => void process.kill(process.pid, 'SIGHUP'),
  full: fillDisk,
};

/** Blocking, so that nothing of ours is written in between. */
function fillDisk(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let size = 1 << 20; size > 0; size >>= 1) writeUntilFull(file, Buffer.alloc(size, 'x'));
  } finally {
    closeSync(file);
  }
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

function refused(what: string, hint: string): ConfigError {
  return new ConfigError('USAGE', `FOLIOPIPE_CRASH_AT: ${what}`, { hint });
}
