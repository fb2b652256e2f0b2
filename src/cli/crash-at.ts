/** Arms a crash point from outside: `FOLIOPIPE_CRASH_AT=point[:n]` kills the process at its n-th passing. */
import { type AtCrashPoint, ConfigError, crashPoints } from '../../pipelines/index.js';

export function crashAt(armed: string | undefined): AtCrashPoint | undefined {
  if (armed === undefined || armed === '') return undefined;
  const [name, count = '1'] = armed.split(':');
  if (!crashPoints.some((point) => point === name)) {
    throw new ConfigError('USAGE', `FOLIOPIPE_CRASH_AT: there is no crash point ${name}`, {
      hint: `one of ${crashPoints.join(', ')}`,
    });
  }
  if (!/^[1-9]\d*$/.test(count)) {
    throw new ConfigError('USAGE', `FOLIOPIPE_CRASH_AT: ${count} is no number of a passing`, {
      hint: 'write point:n, with n from 1',
    });
  }
  let left = Number(count);
  return (point) => {
    if (point !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
