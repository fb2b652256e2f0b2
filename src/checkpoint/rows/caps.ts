/** The caps of the budget, and who pays. Unit: records. */
import { GuardError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import type { Budget, Spending } from '../state.js';

/** A run, or a pipeline for what belongs to no run. */
export type Payer = { readonly run: string } | { readonly pipeline: string };

/** Stands for the run in rows of what belongs to no run. */
export const NO_RUN = '';

/** Days are compared as text: a month is the range from `2026-11` to `2026-11~`. */
export const AFTER_ALL_DAYS = '~';

/** Whether what was spent has to be read before more is reserved. */
export function hasCaps({ perRun, perDay, perMonth }: Budget): boolean {
  return perRun !== null || perDay !== null || perMonth !== null;
}

/**
 * @param run `NO_RUN` if the payer is no run; `perRun` does not count then.
 * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded.
 */
export function refuseAboveCaps(
  { perRun, perDay, perMonth }: Budget,
  run: string,
  before: Spending,
  records: number,
): void {
  refuseAbove('perRun', run === NO_RUN ? null : perRun, before.run, records);
  refuseAbove('perDay', perDay, before.day, records);
  refuseAbove('perMonth', perMonth, before.month, records);
}

function refuseAbove(cap: string, limit: number | null, spent: number, records: number): void {
  if (limit === null || spent + records <= limit) return;
  throw new GuardError(
    'BUDGET_REACHED',
    `budget.${cap} is ${countOf(limit, 'record')}: ${spent} are spent, and the next request has ${records}`,
    { facts: { cap, limit, spent, records } },
  );
}
