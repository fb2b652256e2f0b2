/** Schemas of the values in rules. Their messages name the expected value and the given one. */
import { z } from 'zod';
import { nearestName } from '../../nearest-name.js';
import { longestTimerMs, parseDuration } from '../../quantities.js';

/** A map with these keys only. The message for an unknown key suggests the nearest known one. */
export function strictMap<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownKeys((issue as z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>).keys, names)
        : expects(`a map with the keys ${names.join(', ')}`)(issue),
  });
}

/** Creates the error message for a missing or wrong value. @param expected a description of the right value. */
export function expects(expected: string) {
  return ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? `is missing; expected ${expected}` : `expected ${expected}, got ${show(input)}`;
}

export function wholeNumber(min: number, max: number) {
  const error = expects(`a whole number from ${min} to ${max}`);
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: expects(words.join(' or ')) });
}

/** The value of a fault that has no parameters, such as `forget: true`. */
export const enabled = z.literal(true, { error: expects('true') });

/** A text that is not empty. */
export function text(expected: string) {
  const error = expects(expected);
  return z.string({ error }).min(1, { error });
}

/** `500ms`, `30s`, `2m`, `1h`: parsed to milliseconds of the service's time. */
export const duration = parsedText(
  'a duration with its unit, such as 30s, 2m or 1h, of at most 24d',
  (given) => {
    const value = parseDuration(given);
    return value !== undefined && value <= longestTimerMs ? value : undefined;
  },
);

/** `50%` or 0.5: parsed to a number from 0 to 1. */
export const share = parsedText('a share such as 10% or 0.1, from 0 to 1', (given) => {
  const found = /^(\d+(?:\.\d+)?) ?(%?)$/.exec(given);
  const value = found === null ? Number.NaN : Number(found[1]) / (found[2] === '%' ? 100 : 1);
  return value <= 1 ? value : undefined;
});

function parsedText(expected: string, parse: (given: string) => number | undefined) {
  const error = expects(expected);
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
      const meant = nearestName(key, names);
      const help = meant === undefined ? `known here are ${names.join(', ')}` : `did you mean ${meant}?`;
      return `unknown key ${JSON.stringify(key)}, ${help}`;
    })
    .join('; ');
}

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'a map' : JSON.stringify(value);
}
