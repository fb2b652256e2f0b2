/** The flags about time: when to stop, how long to wait for the lock, and from which age something is removed. */
import type { Command } from 'commander';
import { ConfigError, type Logger, type RunOptions } from '../../pipelines/index.js';
import { formatDuration, parseDuration } from '../quantities.js';
import { usage } from './common-options.js';

export interface TimeOptions {
  readonly deadline?: string;
  readonly maxDuration?: string;
  /** `true` without a value: no limit. */
  readonly waitLock?: string | true;
  readonly publishPartial?: boolean;
}

export function withTimeOptions(command: Command): Command {
  return withWaitOption(
    command
      .option(
        '--deadline <time>',
        'stop at this time with exit 8; the same command continues later. An instant with its zone, or a time of day on this machine',
      )
      .option(
        '--max-duration <time>',
        'stop after this time with exit 8, such as 6h or 90m; the same command continues later',
      ),
  );
}

/** Adds only the flag about the lock, for commands that ask no service. */
export function withWaitOption(command: Command): Command {
  return command.option(
    '--wait-lock [time]',
    'wait for another run of this pipeline to end, at most this long; else exit 11',
  );
}

/** Adds the flag of commands that publish. */
export function withPartialOption(command: Command): Command {
  return command.option(
    '--publish-partial',
    'at the deadline, publish what is done, and the rest as UNPROCESSED; the run can continue later',
  );
}

/** Reads the flags and logs the deadline. @throws ConfigError `USAGE`. */
export function readTimeOptions(
  options: TimeOptions,
  logger: Logger,
): Pick<RunOptions, 'deadline' | 'waitLock'> {
  const now = new Date();
  const deadlines = [
    ...(options.deadline === undefined ? [] : [parseDeadline(options.deadline, now)]),
    ...(options.maxDuration === undefined ? [] : [parseMaxDuration(options.maxDuration, now)]),
  ];
  if (options.publishPartial && deadlines.length === 0) {
    throw new ConfigError('USAGE', '--publish-partial: there is no deadline at which to publish', {
      hint: 'add --deadline or --max-duration',
    });
  }
  const deadline = deadlines.length === 0 ? undefined : Math.min(...deadlines);
  if (deadline !== undefined) {
    const instant = new Date(deadline).toISOString();
    logger.info({ deadline: instant }, `deadline ${instant}, in ${formatDuration(deadline - now.getTime())}`);
  }
  return { deadline, waitLock: options.waitLock === undefined ? undefined : parseWait(options.waitLock) };
}

/**
 * @param text an instant with its zone (`2026-11-22T06:00:00+01:00`), or a time of day (`06:00`), which means the next
 *   such time on this machine's clock. A time of day that has just passed is rejected, because it would mean tomorrow.
 * @returns epoch milliseconds.
 * @throws ConfigError `USAGE`.
 */
export function parseDeadline(text: string, now: Date): number {
  const timeOfDay = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (timeOfDay !== null) return nextTimeOfDay(text, Number(timeOfDay[1]), Number(timeOfDay[2]), now);
  const instant = parseInstant(text);
  if (instant === undefined) {
    throw usage(
      `--deadline ${text}: expected an instant with its zone or a time of day`,
      'such as 2026-11-22T06:00:00Z or 06:00',
    );
  }
  if (instant <= now.getTime()) throw usage(`--deadline ${text} has passed`, 'give a later one');
  return instant;
}

/** Reads an instant with its zone. @returns epoch milliseconds; undefined if it is no instant of the calendar. */
export function parseInstant(text: string): number | undefined {
  const [, day] = /^(\d{4}-\d{2}-\d{2})T[\d:.]+(Z|[+-]\d{2}:?\d{2})$/.exec(text) ?? [];
  // `Date.parse` reads 30 February as 2 March.
  const midnight = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return undefined;
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/** @returns epoch milliseconds. @throws ConfigError `USAGE`. */
export function parseMaxDuration(text: string, now: Date): number {
  const duration = parseDuration(text);
  if (duration) return now.getTime() + duration;
  throw usage(`--max-duration ${text}: expected a duration`, 'such as 6h or 90m');
}

/** Reads `--older-than`. @returns milliseconds. @throws ConfigError `USAGE`. */
export function parseAge(text: string): number {
  const age = parseDuration(text);
  if (age !== undefined) return age;
  throw usage(`--older-than ${text}: expected a duration`, 'such as 7d or 30d');
}

function parseWait(text: string | true): number {
  if (text === true) return Number.POSITIVE_INFINITY;
  const duration = parseDuration(text);
  if (duration) return duration;
  throw usage(`--wait-lock ${text}: expected a duration`, 'such as 30m');
}

function nextTimeOfDay(text: string, hours: number, minutes: number, now: Date): number {
  const next = new Date(now);
  next.setHours(hours, minutes, 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  if (next.getTime() - now.getTime() <= maxAheadMs) return next.getTime();
  throw usage(
    `--deadline ${text} has passed today, and would mean ${next.toISOString()}`,
    'if you mean that, write it as an instant with its zone',
  );
}

/** A time of day that is further ahead counts as just passed: the last one was less than six hours ago. */
const maxAheadMs = 18 * 3_600_000;
