/** A rule: which calls it means, and the fault that hits them. */
import { z } from 'zod';
import { OPERATIONS } from '../http/operation.js';
import { type FaultName, faultNames, faultSchema, operationsOf } from './fault.js';
import { choice, duration, mapOf, share, text, told, wholeNumber } from './fault-values.js';

/** Which calls, or which folios, a rule means: one, some, a range, every n-th. Numbers are 1-based. */
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
const numberSet = z.unknown().transform((given, context): NumberSet => {
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

const between = mapOf({ after: duration.optional(), until: duration.optional() }).refine(
  ({ after, until }) => (after ?? 0) < (until ?? Number.POSITIVE_INFINITY),
  { error: 'ends before it begins' },
);

/** Conditions on an uploaded file, known only once it is read. */
const FILE_CONDITIONS = ['records', 'contains'] as const;

const ruleSchema = mapOf({
  on: choice([...OPERATIONS, 'any']).default('any'),
  calls: numberSet.optional(),
  folioCalls: numberSet.optional(),
  folio: numberSet.optional(),
  fileStatus: choice(['SUCCESSFUL', 'FAILED']).optional(),
  records: mapOf({ from: wholeNumber(1, 1_000_000_000) }).optional(),
  contains: text('a text that stands in the file').optional(),
  between: between.optional(),
  probability: share.optional(),
  fault: faultSchema,
}).superRefine((rule, context) => {
  const { on, fault } = rule;
  const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (on === 'upload' || on === 'search') {
    for (const key of ['folio', 'folioCalls'] as const) {
      if (rule[key] !== undefined)
        problem([key], `cannot stand with on: ${on}, which names no folio; use calls`);
    }
  }
  if (rule.fileStatus !== undefined && on !== 'download' && on !== 'any') {
    problem(['fileStatus'], 'is known of downloads only');
  }
  for (const key of FILE_CONDITIONS) {
    if (rule[key] !== undefined && on !== 'upload' && on !== 'any') {
      problem([key], 'is known of uploads only');
    }
  }
  if (fault.retryAfter !== undefined && fault.status === undefined) {
    problem(['fault', 'retryAfter'], 'stands beside a status');
  }
  for (const name of on === 'any' ? [] : faultNames(fault)) {
    const operations = operationsOf(name, fault);
    if (!operations.includes(on as (typeof operations)[number])) {
      problem(['fault', name], `${shown(name, fault)} cannot hit on: ${on}, only ${operations.join(', ')}`);
    }
  }
});

function shown(name: FaultName, fault: Rule['fault']): string {
  return name === 'cut' ? `cut: ${fault.cut}` : name;
}

export type Rule = Readonly<z.infer<typeof ruleSchema>>;

/** Whether the rule means uploads by what is in their files. */
export function isOfFiles(rule: Rule): boolean {
  return FILE_CONDITIONS.some((key) => rule[key] !== undefined);
}

export const faultPlanSchema = mapOf({
  seed: wholeNumber(0, 2 ** 32).default(1),
  rules: z.array(ruleSchema, { error: told('a list of rules') }),
});

/** What the service is told: rules, and the seed of everything in them that is left to chance. */
export type FaultPlan = Readonly<z.infer<typeof faultPlanSchema>>;
