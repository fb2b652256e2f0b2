/** The schema of a rule: which calls it matches, and the fault that hits them. */
import { z } from 'zod';
import { OPERATIONS } from '../http/operation.js';
import { type FaultName, faultNames, faultSchema, operationsOf } from './fault.js';
import { choice, duration, expects, share, strictMap, text, wholeNumber } from './value-schemas.js';

/** The 1-based numbers of the calls or folios that a rule matches: a list, or every n-th number of a range. */
type NumberSet =
  | { readonly among: readonly number[] }
  | { readonly from: number; readonly to: number; readonly every: number };

const number = wholeNumber(1, 1_000_000_000);
const list = z
  .array(number, { error: expects('a list of numbers') })
  .min(1, { error: expects('a list with a number') });
const range = strictMap({
  from: number.optional(),
  to: number.optional(),
  every: number.optional(),
}).refine(({ from, to, every }) => (to ?? Number.POSITIVE_INFINITY) >= (from ?? every ?? 1), {
  error: 'ends before it begins',
});

/** `3`, `[1, 5]`, `{ from: 2, to: 4 }`, `{ every: 3 }` (3, 6, 9, ...), `{ from: 1, every: 3 }` (1, 4, 7, ...). */
const numberSet = z.unknown().transform((given, context): NumberSet => {
  const parsed =
    typeof given === 'object' && given !== null && !Array.isArray(given)
      ? range.transform(toNumberSet).safeParse(given)
      : list.transform((among) => ({ among })).safeParse(Array.isArray(given) ? given : [given]);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) {
    // A single number was checked as a list of one, so its problem must not show an index.
    const isSingle = !Array.isArray(given) && path[0] === 0;
    context.addIssue({ code: 'custom', path: isSingle ? [] : [...path], message });
  }
  return z.NEVER;
});

function toNumberSet({ from, to, every }: z.infer<typeof range>): NumberSet {
  return { from: from ?? every ?? 1, to: to ?? Number.POSITIVE_INFINITY, every: every ?? 1 };
}

export function isInSet(set: NumberSet, number: number): boolean {
  if ('among' in set) return set.among.includes(number);
  return number >= set.from && number <= set.to && (number - set.from) % set.every === 0;
}

const between = strictMap({ after: duration.optional(), until: duration.optional() }).refine(
  ({ after, until }) => (after ?? 0) < (until ?? Number.POSITIVE_INFINITY),
  { error: 'ends before it begins' },
);

const ruleKeys = strictMap({
  on: choice([...OPERATIONS, 'any']).default('any'),
  calls: numberSet.optional(),
  folioCalls: numberSet.optional(),
  folio: numberSet.optional(),
  fileStatus: choice(['SUCCESSFUL', 'FAILED']).optional(),
  records: strictMap({ from: number }).optional(),
  contains: text('a text that the file contains').optional(),
  between: between.optional(),
  probability: share.optional(),
  fault: faultSchema,
});

export type Rule = Readonly<z.infer<typeof ruleKeys>>;

/** Conditions on an uploaded file, which can be checked only after it is read. */
const FILE_CONDITIONS = ['records', 'contains'] as const;

/** Whether the rule matches uploads by their files. */
export function hasFileCondition(rule: Rule): boolean {
  return FILE_CONDITIONS.some((key) => rule[key] !== undefined);
}

const ruleSchema = ruleKeys.superRefine((rule, context) => {
  const { on, fault } = rule;
  const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (on === 'upload' || on === 'search') {
    for (const key of ['folio', 'folioCalls'] as const) {
      if (rule[key] !== undefined) {
        problem([key], `cannot be combined with on: ${on}, which names no folio; use calls`);
      }
    }
  }
  if (rule.fileStatus !== undefined && on !== 'download' && on !== 'any') {
    problem(['fileStatus'], 'applies to downloads only');
  }
  for (const key of FILE_CONDITIONS) {
    if (rule[key] !== undefined && on !== 'upload' && on !== 'any') problem([key], 'applies to uploads only');
  }
  if (fault.retryAfter !== undefined && fault.status === undefined) {
    problem(['fault', 'retryAfter'], 'needs a status');
  }
  for (const name of on === 'any' ? [] : faultNames(fault)) {
    const operations = operationsOf(name, fault);
    if (!operations.includes(on as (typeof operations)[number])) {
      const hit = operations.join(', ');
      problem(['fault', name], `${faultText(name, fault)} cannot hit on: ${on}, only ${hit}`);
    }
  }
});

function faultText(name: FaultName, fault: Rule['fault']): string {
  return name === 'cut' ? `cut: ${fault.cut}` : name;
}

export const faultPlanSchema = strictMap({
  seed: wholeNumber(0, 2 ** 32).default(1),
  rules: z.array(ruleSchema, { error: expects('a list of rules') }),
});

/** The rules of a service, and the seed of their random choices. */
export type FaultPlan = Readonly<z.infer<typeof faultPlanSchema>>;
