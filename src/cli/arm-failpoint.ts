/** Arms a failpoint with the variable `FOLIOPIPE_CRASH_AT`. Tests use it to stop a process at a named point. */
import { type AtFailpoint, ConfigError, failpoints } from '../../pipelines/index.js';

/**
 * Reads `point[:n][:how]`: a signal for the n-th time (default: the first) that the process passes the failpoint.
 * @param armed the variable's value.
 * @returns undefined when nothing is armed.
 * @throws ConfigError `USAGE` for an unknown failpoint, count or signal.
 */
export function armFailpoint(armed: string | undefined): AtFailpoint | undefined {
  if (armed === undefined || armed === '') return undefined;
  const [name, ...rest] = armed.split(':');
  const how = /^\D/.test(rest.at(-1) ?? '') ? rest.pop()! : 'kill';
  const [count = '1', ...more] = rest;
  if (!failpoints.some((point) => point === name)) {
    throw usageError(`there is no failpoint ${name}`, `use one of ${failpoints.join(', ')}`);
  }
  if (!/^[1-9]\d*$/.test(count) || more.length > 0) {
    throw usageError(`${rest.join(':')} is not a count`, 'write point:n:how, with n from 1');
  }
  const signal = signals.get(how);
  if (signal === undefined) throw usageError(`${how} is unknown`, 'write kill, term, hup or pause');
  let left = Number(count);
  return (point) => {
    if (point !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, signal);
  };
}

/**
 * The signal that this process sends to itself: `kill` ends it, `pause` suspends it, the others ask it to stop.
 */
const signals: ReadonlyMap<string, NodeJS.Signals> = new Map([
  ['kill', 'SIGKILL'],
  ['term', 'SIGTERM'],
  ['hup', 'SIGHUP'],
  ['pause', 'SIGSTOP'],
]);

function usageError(what: string, hint: string): ConfigError {
  return new ConfigError('USAGE', `FOLIOPIPE_CRASH_AT: ${what}`, { hint });
}
