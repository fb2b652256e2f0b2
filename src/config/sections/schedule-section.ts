/**
 * The keys that say when a fleet begins a run by itself: a cron line, and the time zone in which it is read. The line has
 * five fields, as in a crontab; what is accepted here means the same to pg-boss, which keeps the schedules.
 */
import { z } from 'zod';
import { timeZone } from './values.js';

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of the values, the first of them for `least`. */
  readonly names?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of the month', least: 1, most: 31 },
  {
    name: 'month',
    least: 1,
    most: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  // 7 is Sunday too.
  { name: 'weekday', least: 0, most: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

/** The minutes at which a cron line is due: sets of the values of its fields. */
export interface CronTimes {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Whether both kinds of days are limited: then a day needs to match only one of them, as in cron. */
  readonly isEitherDay: boolean;
}

/** Reads a cron line. @returns its times, or what is wrong with it. */
export function readCron(line: string): CronTimes | { readonly problem: string } {
  const texts = line.trim().split(/\s+/);
  if (texts.length !== FIELDS.length || texts[0] === '') {
    return { problem: `has ${texts[0] === '' ? 0 : texts.length} fields instead of five` };
  }
  const sets: ReadonlySet<number>[] = [];
  for (const [at, field] of FIELDS.entries()) {
    const values = readField(texts[at]!, field);
    if (values === undefined) return { problem: `${texts[at]} is not a valid ${field.name}` };
    sets.push(values);
  }
  const [minutes, hours, days, months, weekdays] = sets as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  const isEitherDay = texts[2] !== '*' && texts[4] !== '*';
  if (!isEitherDay && !hasDay(days, months)) return { problem: 'names a day that no month has' };
  const sundays = new Set([...weekdays].map((day) => day % 7));
  return { minutes, hours, days, months, weekdays: sundays, isEitherDay };
}

/** The values of a field such as `1-5,30` or `*\/15`; undefined if it is invalid. */
function readField(text: string, field: Field): Set<number> | undefined {
  const values = new Set<number>();
  for (const part of text.toLowerCase().split(',')) {
    const found = /^(\*|[a-z\d]+(?:-[a-z\d]+)?)(?:\/(\d{1,2}))?$/.exec(part);
    if (found === null) return undefined;
    const [, range = '', stepText = '1'] = found;
    const step = Number(stepText);
    const [from, to] = rangeOf(range, field, found[2] !== undefined);
    if (from === undefined || to === undefined || from > to || step < 1) return undefined;
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}

function rangeOf(range: string, field: Field, hasStep: boolean): (number | undefined)[] {
  // A star means each weekday once: 7 is Sunday again.
  if (range === '*') return [field.least, field.names?.length === 7 ? 6 : field.most];
  const [first = '', last] = range.split('-');
  const from = numberOf(first, field);
  if (last !== undefined) return [from, numberOf(last, field)];
  // Programs read `5/15` differently, so it is refused.
  return hasStep ? [] : [from, from];
}

function numberOf(text: string, { least, most, names = [] }: Field): number | undefined {
  const named = names.indexOf(text);
  if (named >= 0) return least + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

/** The longest each month can be. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function hasDay(days: ReadonlySet<number>, months: ReadonlySet<number>): boolean {
  return [...months].some((month) => [...days].some((day) => day <= LENGTHS[month - 1]!));
}

const EXPECTED =
  'a cron line of five fields (minute, hour, day of the month, month, weekday), such as 0 1 * * *';

export const scheduleSchema = z
  .string()
  .superRefine((line, context) => {
    const read = readCron(line);
    if ('problem' in read) {
      context.addIssue({ code: 'custom', message: `expected ${EXPECTED}; this one ${read.problem}` });
    }
  })
  .describe(EXPECTED)
  .nullable()
  .default(null);

export const timeZoneSchema = timeZone.default('UTC');
