/** The budget: reserved before a paid request, refunded when the request was not accepted. Unit: records. */
import { GuardError } from '../../errors.js';
import type { Budget, Spending } from '../state.js';
import type { StateDatabase } from './state-database.js';

export interface BudgetChanges {
  /**
   * Reserves records in the budget of a run's pipeline.
   * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded; this rolls the transaction back.
   */
  reserve(run: string, records: number, budget: Budget): void;
  /** Refunds records on the day on which they were reserved. */
  refund(run: string, records: number, day: string): void;
}

/** Prepares the statements. Both functions must be called within a transaction. */
export function budgetChanges(db: StateDatabase): BudgetChanges {
  const pipelineOf = db.prepare<[string], string>('SELECT pipeline FROM runs WHERE id = ?').pluck();
  const spent = spendingRead(db);
  const add = db.prepare(`
    INSERT INTO spending (pipeline, day, run, records) VALUES (@pipeline, @day, @run, @records)
    ON CONFLICT DO UPDATE SET records = records + excluded.records`);

  return {
    reserve: (run, records, budget) => {
      const pipeline = pipelineOf.get(run)!;
      const { day, perRun, perDay, perMonth } = budget;
      if (perRun !== null || perDay !== null || perMonth !== null) {
        const before = spent(pipeline, run, day);
        refuseAbove('perRun', perRun, before.run, records);
        refuseAbove('perDay', perDay, before.day, records);
        refuseAbove('perMonth', perMonth, before.month, records);
      }
      add.run({ pipeline, day, run, records });
    },
    refund: (run, records, day) => {
      add.run({ pipeline: pipelineOf.get(run)!, day, run, records: -records });
    },
  };
}

function refuseAbove(cap: string, limit: number | null, spent: number, records: number): void {
  if (limit === null || spent + records <= limit) return;
  throw new GuardError(
    'BUDGET_REACHED',
    `budget.${cap} is ${limit} records: ${spent} are spent, and the next request has ${records}`,
    { facts: { cap, limit, spent, records } },
  );
}

/** Days are compared as text: a month is the range from `2026-11` to `2026-11~`. */
const AFTER_ALL_DAYS = '~';

/** Prepares the sums of a run, and of its pipeline on a day and in the month. Must be called within a transaction. */
export function spendingRead(
  db: StateDatabase,
): (pipeline: string, run: string | null, day: string) => Spending {
  const ofRun = db
    .prepare<[string], number>('SELECT coalesce(sum(records), 0) FROM spending WHERE run = ?')
    .pluck();
  const between = db
    .prepare<[string, string, string], number>(
      'SELECT coalesce(sum(records), 0) FROM spending WHERE pipeline = ? AND day BETWEEN ? AND ?',
    )
    .pluck();
  return (pipeline, run, day) => {
    const month = day.slice(0, 7);
    return {
      run: run === null ? 0 : ofRun.get(run)!,
      day: between.get(pipeline, day, day)!,
      month: between.get(pipeline, month, month + AFTER_ALL_DAYS)!,
    };
  };
}
