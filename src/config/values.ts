/** The quantities that people write with a unit: durations, sizes and shares. */
import bytes from 'bytes';
import type { StringValue } from 'ms';
import ms from 'ms';
import { z } from 'zod';
import type { Bytes, Milliseconds } from '../types.js';

/** The longest time that Node's timers can wait; a longer one would fire at once. */
const LONGEST_TIMER: Milliseconds = 2 ** 31 - 1;

/** Reads `500ms`, `10s`, `15m`, `6h`, `30d`. A bare number is refused: seconds or milliseconds? */
function toMilliseconds(text: string): Milliseconds | undefined {
  if (!/^\d+(\.\d+)? ?[a-z]+$/i.test(text)) return undefined;
  const value = Math.round(ms(text as StringValue));
  return value >= 1 ? value : undefined;
}

/** A span of time up to `longest`, in milliseconds. */
function durationUpTo(longest: Milliseconds, expected: string) {
  return z
    .string()
    .transform((text, context): Milliseconds => {
      const value = toMilliseconds(text.trim());
      if (value !== undefined && value <= longest) return value;
      context.addIssue({ code: 'custom' });
      return z.NEVER;
    })
    .describe(expected);
}

/** A span of time that is compared with the clock. */
export const duration = durationUpTo(
  Number.MAX_SAFE_INTEGER,
  'a duration with its unit, such as 500ms, 10s, 15m, 6h or 30d',
);

/** A span of time that a timer waits for. */
export const timerDuration = durationUpTo(
  LONGEST_TIMER,
  'a duration with its unit, such as 500ms, 10s, 15m or 6h, of at most 24d',
);

/** A size: a whole number of bytes, or a number with B, KB, MB, GB or TB, where 1KB is 1024 bytes. */
export function size(least: Bytes, most: Bytes) {
  return z
    .union([z.number(), z.string()])
    .transform((value, context): Bytes => {
      const parsed = typeof value === 'number' ? value : toBytes(value.trim());
      if (parsed !== undefined && Number.isSafeInteger(parsed) && parsed >= least && parsed <= most) {
        return parsed;
      }
      context.addIssue({ code: 'custom' });
      return z.NEVER;
    })
    .describe(
      `a size of at least ${bytes(least)} and at most ${bytes(most)}, such as 512KB or 8MB (1KB is 1024 bytes)`,
    );
}

/** `bytes` reads what it does not know as a bare number, so the form is checked first. */
function toBytes(text: string): Bytes | undefined {
  return /^\d+(\.\d+)? ?(b|kb|mb|gb|tb)$/i.test(text) ? (bytes.parse(text) ?? undefined) : undefined;
}

/** A share of a whole, 0 to 1: `5%` or 0.05. */
export const share = z
  .union([z.number(), z.string()])
  .transform((value, context): number => {
    const parsed = typeof value === 'number' ? value : toShare(value.trim());
    if (parsed !== undefined && parsed >= 0 && parsed <= 1) return parsed;
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  })
  .describe('a share such as 5% or 0.05, from 0 to 1');

function toShare(text: string): number | undefined {
  return /^\d+(\.\d+)? ?%$/.test(text) ? Number.parseFloat(text) / 100 : undefined;
}

// The kinds of plain values; each one's description is what a problem says was expected.

/** A whole number, `least` or more. */
export function wholeNumber(least: number) {
  return z.int().min(least).describe(`a whole number, ${least} or more`);
}

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words).describe(words.join(' or '));
}

/** True or false. */
export const flag = z.boolean().describe('true or false');

/** A place on disk. It is absolute by the time that it is checked: see `resolve-path.ts`. */
export const filePath = z
  .string()
  .min(1)
  .refine((path) => !path.includes('\0'), { error: 'a path cannot hold a NUL character' })
  .refine((path) => !path.startsWith('~'), {
    error: 'a path is not read by a shell: write out what ~ stands for',
  })
  .describe('a path');

/** Names of columns, each once. */
export function columnNames(least: 0 | 1) {
  return z
    .array(z.string().min(1).describe('the name of a column'))
    .min(least)
    .refine((names) => new Set(names).size === names.length)
    .describe('a list of column names, each once');
}
