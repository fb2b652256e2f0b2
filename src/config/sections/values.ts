/** The schemas of the values in a config. Problems show a schema's description as the expected value. */
import { z } from 'zod';
import { formatBytes, longestTimerMs, parseDuration, parseSize } from '../../quantities.js';
import type { Bytes, Milliseconds, RejectLimit } from '../../types.js';

const numberOrText = z.union([z.number(), z.string()]);

/** Takes the values from which `parse` makes something else. @param parse gives undefined for any other value. */
export function parsed<S extends z.ZodType, T>(schema: S, parse: (value: z.output<S>) => T | undefined) {
  return schema.transform((value, context): T => {
    const read = parse(value);
    if (read !== undefined) return read;
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  });
}

/** A duration that is compared with the clock, in milliseconds. */
export const duration = durationUpTo(
  Number.MAX_SAFE_INTEGER,
  'a duration with its unit, such as 500ms, 10s, 15m, 6h or 30d',
);

/** A duration that a timer waits for, in milliseconds. */
export const timerDuration = durationUpTo(
  longestTimerMs,
  'a duration with its unit, such as 500ms, 10s, 15m or 6h, of at most 24d',
);

/** How old something may be, in milliseconds. 0 means that nothing is young enough. */
export const age = z
  .union([z.literal(0), duration])
  .describe('a duration with its unit, such as 12h, 90d or 2y, or 0');

/** A size: a whole number of bytes, or a number with B, KB, MB, GB or TB, where 1KB is 1024 bytes. */
export function size(least: Bytes, most: Bytes) {
  const expected = `a size of at least ${asWritten(least)} and at most ${asWritten(most)}, such as 512KB or 8MB (1KB is 1024 bytes)`;
  return parsed(numberOrText, (value): Bytes | undefined => {
    const bytes = typeof value === 'number' ? value : parseSize(value.trim());
    const isGood = bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= least && bytes <= most;
    return isGood ? bytes : undefined;
  }).describe(expected);
}

/** A share of a whole, 0 to 1: `5%` or 0.05. */
export const share = parsed(numberOrText, (value) => {
  const part = typeof value === 'number' ? value : parsePercent(value.trim());
  return part !== undefined && part >= 0 && part <= 1 ? part : undefined;
}).describe('a share such as 5% or 0.05, from 0 to 1');

/** A limit of records: `10`, or a share of them such as `0.5%`. */
export const rejectLimit = parsed(numberOrText, (value): RejectLimit | undefined => {
  const text = String(value).trim();
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return { records: Number(text) };
  const part = parsePercent(text);
  return part !== undefined && part <= 1 ? { share: part } : undefined;
}).describe('a number of records such as 10, or a share of them such as 0.5%, with its %');

/** A whole number, `least` or more. */
export function wholeNumber(least: number) {
  return z.int().min(least).describe(`a whole number, ${least} or more`);
}

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words).describe(words.join(' or '));
}

/** A name that can be part of a file's name, and of a command without quotes. It cannot be an address or a path. */
export const shortName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .describe('a name of 1 to 64 letters, digits, dots, dashes and underscores');

/** True or false. */
export const flag = z.boolean().describe('true or false');

/** The name of a time zone. */
export const timeZone = z.string().refine(isTimeZone).describe('a time zone such as UTC or America/Denver');

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Means standard input or output, as in other programs. `./-` is a file with this name. */
export const STREAM = '-';

/** A path on disk. `load-config.ts` makes it absolute before the schema checks it. */
export const filePath = pathOnDisk({ address: 'write the path of a file on this machine' });

/**
 * A path on disk.
 * @param instead advice for a user who writes an address such as `https://host/key`, or `-` for a stream. `mayBe` says
 *   which addresses are accepted.
 */
export function pathOnDisk(instead: {
  readonly address: string;
  readonly stream?: string;
  readonly mayBe?: (path: string) => boolean;
}) {
  return z
    .string()
    .min(1)
    .refine((path) => !path.includes('\0'), { error: 'a path cannot hold a NUL character' })
    .refine((path) => !path.startsWith('~'), {
      error: 'a path is not read by a shell: write the full path in place of ~',
    })
    .refine((path) => !isAddress(path) || instead.mayBe?.(path) === true, {
      error: `an address is not a path: ${instead.address}`,
    })
    .refine((path) => instead.stream === undefined || path !== STREAM, {
      error: `${STREAM} is not a path: ${instead.stream}`,
    })
    .describe('a path');
}

/** Whether a path is an address such as `s3://bucket/key`. */
export function isAddress(path: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path);
}

/** Names of columns, each once. */
export function columnNames(least: 0 | 1) {
  return z
    .array(z.string().min(1).describe('the name of a column'))
    .min(least)
    .refine((names) => new Set(names).size === names.length)
    .describe('a list of column names, each once');
}

/** A duration from 1 millisecond up to `longest`. */
function durationUpTo(longest: Milliseconds, expected: string) {
  return parsed(z.string(), (text): Milliseconds | undefined => {
    const value = parseDuration(text.trim());
    return value !== undefined && value >= 1 && value <= longest ? value : undefined;
  }).describe(expected);
}

/** Such as `8MB`. */
function asWritten(bytes: Bytes): string {
  return formatBytes(bytes).replace(' ', '');
}

function parsePercent(text: string): number | undefined {
  return /^\d+(\.\d+)? ?%$/.test(text) ? Number.parseFloat(text) / 100 : undefined;
}
