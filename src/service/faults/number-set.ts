/** Which calls, or which folios, a rule means: one, some, a range, every n-th. Numbers are 1-based. */
import { z } from 'zod';
import { mapOf, told, wholeNumber } from './leaves.js';

export type NumberSet =
  | { readonly among: readonly number[] }
  | { readonly from: number; readonly to: number; readonly every: number };

const place = wholeNumber(1, 1_000_000_000);
const list = z
  .array(place, { error: told('a list of numbers') })
  .min(1, { error: told('a list with a number') });
const range = mapOf({ from: place.optional(), to: place.optional(), every: place.optional() }).refine(
  ({ from, to, every }) => (to ?? Number.POSITIVE_INFINITY) >= (from ?? every ?? 1),
  { error: 'ends before it begins' },
);

/** `3`, `[1, 5]`, `{ from: 2, to: 4 }`, `{ every: 3 }` (3, 6, 9, ...), `{ from: 1, every: 3 }` (1, 4, 7, ...). */
export const numberSet = z.unknown().transform((given, context): NumberSet => {
  const parsed =
    typeof given === 'object' && given !== null && !Array.isArray(given)
      ? range.transform(toRange).safeParse(given)
      : list.transform((among) => ({ among })).safeParse(Array.isArray(given) ? given : [given]);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) {
    context.addIssue({
      code: 'custom',
      path: Array.isArray(given) || path[0] !== 0 ? [...path] : [],
      message,
    });
  }
  return z.NEVER;
});

function toRange({ from, to, every }: z.infer<typeof range>): NumberSet {
  return { from: from ?? every ?? 1, to: to ?? Number.POSITIVE_INFINITY, every: every ?? 1 };
}

export function isInSet(set: NumberSet, number: number): boolean {
  if ('among' in set) return set.among.includes(number);
  return number >= set.from && number <= set.to && (number - set.from) % set.every === 0;
}
