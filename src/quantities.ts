/** Numbers, sizes, durations and shares as people write and read them. */
import bytes from 'bytes';
import ms from 'ms';
import type { Bytes, Milliseconds } from './types.js';

/** The longest time that Node's timers can wait; a longer one fires at once. */
export const longestTimerMs: Milliseconds = 2 ** 31 - 1;

/** Reads `500ms`, `10s`, `1.5h`, `30d`, rounded to milliseconds. A number without a unit is refused as ambiguous. */
export function parseDuration(text: string): Milliseconds | undefined {
  if (!/^\d+(\.\d+)? ?[a-z]+$/i.test(text)) return undefined;
  const value = Math.round(ms(text as ms.StringValue));
  return Number.isNaN(value) ? undefined : value;
}

/** Reads a number with B, KB, MB, GB or TB, where 1KB is 1024 bytes. */
export function parseSize(text: string): Bytes | undefined {
  // The package reads what it does not know as a bare number, so the form is checked first.
  return /^\d+(\.\d+)? ?(b|kb|mb|gb|tb)$/i.test(text) ? (bytes.parse(text) ?? undefined) : undefined;
}

/** Such as `2h`, `45s` or `80ms`: rounded, in one unit. A negative duration is shown as `0s`. */
export function formatDuration(time: Milliseconds): string {
  const rounded = Math.round(time);
  return rounded <= 0 ? '0s' : ms(rounded);
}

/** Such as `8 MB`. */
export function formatBytes(size: Bytes): string {
  return bytes.format(size, { unitSeparator: ' ' }) ?? String(size);
}

const grouped = new Intl.NumberFormat('en-US');

/** Such as `1,234`. */
export function formatCount(count: number): string {
  return grouped.format(count);
}

/** One noun with its number: `1 chunk`, `12 chunks`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** A part of a whole with at most one decimal: `33.3%`. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '0%' : formatPercent(part / whole, 1);
}

/** A share from 0 to 1 as a config takes it: `5%`, with at most so many decimals. */
export function formatPercent(share: number, decimals: number): string {
  return `${Number((100 * share).toFixed(decimals))}%`;
}
