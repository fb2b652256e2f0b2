/** The kinds of plain values; each one's description is what a problem says was expected. */
import { z } from 'zod';

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
