/** Days and months in the time zone of the budget. */
import type { Config } from '../schema.js';

/** The budget's limits, and the day to which a paid request belongs. @param at epoch milliseconds. */
export function budgetAt({ perRun, perDay, perMonth, timeZone }: Config['budget'], at: number) {
  return { day: dayOf(at, timeZone), perRun, perDay, perMonth };
}

/** The calendar day, such as `2026-11-21`. @param at epoch milliseconds. */
export function dayOf(at: number, timeZone: string): string {
  // Most configs name no zone, and loading the data of Intl takes a tenth of the time of a short command.
  if (timeZone === 'UTC') return new Date(at).toISOString().slice(0, 10);
  return formatFor(timeZone).format(at);
}

/** The calendar month, such as `2026-11`. @param at epoch milliseconds. */
export function monthOf(at: number, timeZone: string): string {
  return dayOf(at, timeZone).slice(0, 7);
}

/** Formats by time zone: creating one takes longer than formatting a hundred dates. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  // Swedish dates are written as in ISO 8601.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}
