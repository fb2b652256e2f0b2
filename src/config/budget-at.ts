/** The budget as it stands at a moment: its caps, and the day that a paid request counts for. */
import type { Config } from './schema.js';

/** @param at epoch milliseconds. */
export function budgetAt({ perRun, perDay, perMonth, timeZone }: Config['budget'], at: number) {
  return { day: dayOf(at, timeZone), perRun, perDay, perMonth };
}

/** Making one takes longer than a hundred dates. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** The calendar day as `2026-11-21`, in a time zone. */
export function dayOf(at: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (format === undefined) {
    // Swedish dates are written as ISO 8601 has them.
    format = new Intl.DateTimeFormat('sv-SE', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    formats.set(timeZone, format);
  }
  return format.format(at);
}
