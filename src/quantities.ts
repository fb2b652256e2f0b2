/** Numbers, sizes, durations and shares as people write and read them. */
import bytes from 'bytes';
import ms from 'ms';
import type { Bytes, Milliseconds } from './types.js';

/** The longest time that Node's timers can wait; a longer one fires at once. */
export const longestTimerMs: Milliseconds = 2 ** 31 - 1;

/** More than a hundred thousand years: JavaScript has dates that far before and after now. */
const longestDurationMs: Milliseconds = 4e15;

/**
 * Reads `500ms`, `10s`, `1.5h`, `30d`, rounded to milliseconds. Refuses a number without a unit, which is ambiguous, and
 * more than `longestDurationMs`.
 */
export function parseDuration(text: string): Milliseconds | undefined {
  if (!/^\d+(\.\d+)? ?[a-z]+$/i.test(text)) return undefined;
  const value = Math.round(ms(text as ms.StringValue));
  return value <= longestDurationMs ? value : undefined;
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

/**
 * A whole number such as `1,234`. Does not use Intl.NumberFormat, whose language data takes longer to load than most of
 * the program.
 */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A number with this many significant digits, without trailing zeros, such as `0.813`. */
export function formatDecimals(value: number, digits = 3): string {
  return String(Number(value.toPrecision(digits)));
}

/** An amount of money to the cent, without its currency. An amount above 0 is never shown as `0.00`. */
export function formatAmount(amount: number): string {
  return amount > 0 && amount < 0.005 ? '<0.01' : amount.toFixed(2);
}

/** One noun with its number: `1 chunk`, `12 chunks`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/**
 * A duration in two units, for people: `1 h 04 min`, `2 min 05 s`, `12 s`, `2.3 s` or `80 ms`. A negative one is `0 ms`.
 */
export function formatSpan(time: Milliseconds): string {
  if (time < 999.5) return `${Math.round(Math.max(time, 0))} ms`;
  if (time < 9_950) return `${Number((time / 1000).toFixed(1))} s`;
  const seconds = Math.round(time / 1000);
  if (seconds < 60) return `${seconds} s`;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two((seconds % 3600) / 60)} min`;
}

/**
 * A part of a whole with at most one decimal: `33.3%`. A share above 0 is never shown as 0% (`<0.1%`), and one below
 * 100% never as 100% (`>99.9%`).
 */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '0%';
  const share = part / whole;
  if (share > 0 && share < 0.0005) return '<0.1%';
  return share < 1 && share >= 0.9995 ? '>99.9%' : formatPercent(share, 1);
}

/** A share from 0 to 1 as a config takes it: `5%`, with at most this number of decimals. */
export function formatPercent(share: number, decimals: number): string {
  return `${Number((100 * share).toFixed(decimals))}%`;
}
