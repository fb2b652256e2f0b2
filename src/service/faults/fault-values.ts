/** The values that stand in rules, and what is said of those that cannot. */
import { closest, distance } from 'fastest-levenshtein';
import type { StringValue } from 'ms';
import ms from 'ms';
import { z } from 'zod';
import type { Milliseconds } from '../../types.js';

/** The longest time that Node's timers can wait. */
const LONGEST: Milliseconds = 2 ** 31 - 1;

/** A map with these keys and no others; the nearest known name stands beside an unknown one. */
export function mapOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownKeys((issue as z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>).keys, names)
        : told(`a map with the keys ${names.join(', ')}`)(issue),
  });
}

/** Gives the message of whatever is wrong with a value, from what was expected. */
export function told(expected: string) {
  return ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? `is missing; expected ${expected}` : `expected ${expected}, got ${show(input)}`;
}

export function wholeNumber(least: number, most: number) {
  const error = told(`a whole number from ${least} to ${most}`);
  return z.int({ error }).min(least, { error }).max(most, { error });
}

export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: told(words.join(' or ')) });
}

/** A fault that has no more to say is written `forget: true`. */
export const yes = z.literal(true, { error: told('true') });

export function text(expected: string) {
  const error = told(expected);
  return z.string({ error }).min(1, { error });
}

/** `500ms`, `30s`, `2m`, `1h`, in milliseconds of the service's time. */
export const duration = parsedText(
  'a duration with its unit, such as 30s, 2m or 1h, of at most 24d',
  (given) => {
    if (!/^\d+(\.\d+)? ?[a-z]+$/i.test(given)) return undefined;
    const value = Math.round(ms(given as StringValue));
    return value >= 0 && value <= LONGEST ? value : undefined;
  },
);

/** A share of a whole: `50%` or 0.5. */
export const share = parsedText('a share such as 10% or 0.1, from 0 to 1', (given) => {
  const found = /^(\d+(?:\.\d+)?) ?(%?)$/.exec(given);
  const value = found === null ? Number.NaN : Number(found[1]) / (found[2] === '%' ? 100 : 1);
  return value <= 1 ? value : undefined;
});

function parsedText(expected: string, parse: (given: string) => number | undefined) {
  const error = told(expected);
  return z.union([z.string(), z.number()], { error }).transform((given, context): number => {
    const value = parse(String(given).trim());
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: error({ input: given }) });
    return z.NEVER;
  });
}

function unknownKeys(keys: readonly string[], names: readonly string[]): string {
  return keys
    .map((key) => {
      const near = closest(key, names);
      const isNear = distance(key, near) <= Math.max(2, Math.floor(near.length / 3));
      const help = isNear ? `did you mean ${near}?` : `known here are ${names.join(', ')}`;
      return `unknown key ${JSON.stringify(key)}, ${help}`;
    })
    .join('; ');
}

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'a map' : JSON.stringify(value);
}
