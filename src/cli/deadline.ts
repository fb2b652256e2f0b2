/** `--deadline` and `--max-duration` as an instant: pure, from the text and the time now. */
import { ConfigError } from '../../pipelines/index.js';
import { parseSpan } from './format.js';

/**
 * @param text an instant with its zone (`2026-11-22T06:00:00+01:00`), or a time of day (`06:00`) that comes next
 *   on this machine's clock. One that has just passed is refused: it would mean tomorrow.
 * @returns epoch milliseconds.
 * @throws ConfigError `USAGE`.
 */
export function parseDeadline(text: string, now: Date): number {
  const timeOfDay = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (timeOfDay !== null) return nextTimeOfDay(text, Number(timeOfDay[1]), Number(timeOfDay[2]), now);
  const instant = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:?\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(instant)) {
    throw usage(
      `--deadline ${text}: expected an instant with its zone or a time of day`,
      'such as 2026-11-22T06:00:00Z or 06:00',
    );
  }
  if (instant <= now.getTime()) throw usage(`--deadline ${text} has passed`, 'give a later one');
  return instant;
}

/** @returns epoch milliseconds. @throws ConfigError `USAGE`. */
export function parseMaxDuration(text: string, now: Date): number {
  const span = parseSpan(text);
  if (span !== undefined) return now.getTime() + span;
  throw usage(`--max-duration ${text}: expected a duration`, 'such as 6h or 90m');
}

function nextTimeOfDay(text: string, hours: number, minutes: number, now: Date): number {
  const next = new Date(now);
  next.setHours(hours, minutes, 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  if (next.getTime() - now.getTime() <= longestNightMs) return next.getTime();
  throw usage(
    `--deadline ${text} has passed today, and would mean ${next.toISOString()}`,
    'if that is meant, give it as an instant with its zone',
  );
}

const longestNightMs = 18 * 3_600_000;

function usage(message: string, hint: string): ConfigError {
  return new ConfigError('USAGE', message, { hint });
}
