/**
 * When a schedule is due next, and was due last: for display, and for missed times. pg-boss decides by itself when it
 * makes a job.
 */
import { type CronTimes, readCron } from '../config/sections/schedule-section.js';

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
export const DAY_MS = 24 * 60 * MINUTE_MS;
/** A schedule for 29 February is due again after at most eight years. */
const MOST_DAYS = 8 * 366 + 2;

/**
 * The first time after another one at which a cron line is due. A time that the clocks skip is due later, by what they
 * skip.
 * @param after epoch milliseconds.
 * @returns epoch milliseconds; undefined if the text is not a cron line, or is never due.
 */
export function nextTime(line: string, timeZone: string, after: number): number | undefined {
  for (const instants of instantsByDay(line, timeZone, after, 1)) {
    const found = instants.filter((instant) => instant > after);
    if (found.length > 0) return Math.min(...found);
  }
  return undefined;
}

/**
 * The last time until another one at which a cron line was due.
 * @param until epoch milliseconds.
 * @returns as `nextTime`.
 */
export function lastTime(line: string, timeZone: string, until: number): number | undefined {
  for (const instants of instantsByDay(line, timeZone, until, -1)) {
    const found = instants.filter((instant) => instant <= until);
    if (found.length > 0) return Math.max(...found);
  }
  return undefined;
}

/** The instants at which a line is due, by day. @param step 1 forwards and -1 backwards. */
function* instantsByDay(
  line: string,
  timeZone: string,
  from: number,
  step: 1 | -1,
): Generator<readonly number[]> {
  const times = readCron(line);
  if ('problem' in times) return;
  const offsetAt = offsets(timeZone);
  const today = Math.floor((from + offsetAt(from)) / DAY_MS) * DAY_MS;
  // Begins one day on the other side, because the clocks may have been changed in between.
  for (let day = today - step * DAY_MS, left = MOST_DAYS; left > 0; day += step * DAY_MS, left--) {
    if (isDue(times, new Date(day))) yield timesOfDay(times).map((time) => instantOf(day + time, offsetAt));
  }
}

function isDue({ days, months, weekdays, isEitherDay }: CronTimes, day: Date): boolean {
  if (!months.has(day.getUTCMonth() + 1)) return false;
  const [isDay, isWeekday] = [days.has(day.getUTCDate()), weekdays.has(day.getUTCDay())];
  return isEitherDay ? isDay || isWeekday : isDay && isWeekday;
}

function timesOfDay({ hours, minutes }: CronTimes): readonly number[] {
  return [...hours].flatMap((hour) => [...minutes].map((minute) => (hour * 60 + minute) * MINUTE_MS));
}

/** The instant of a local time, which is given as if it were UTC. */
function instantOf(local: number, offsetAt: (instant: number) => number): number {
  const before = offsetAt(local - DAY_MS);
  const exact = offsetAt(local - before);
  return offsetAt(local - exact) === exact ? local - exact : local - before;
}

/** How far the clocks of a zone are ahead of UTC, in ms. */
function offsets(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const known = new Map<number, number>();
  return (instant) => {
    // Clocks are changed only at quarters of an hour.
    const quarter = Math.floor(instant / QUARTER_MS) * QUARTER_MS;
    const before = known.get(quarter);
    if (before !== undefined) return before;
    const parts = Object.fromEntries(
      format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]),
    );
    const { year, month, day, hour, minute, second } = parts as Record<string, number>;
    const offset = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - quarter;
    known.set(quarter, offset);
    return offset;
  };
}
