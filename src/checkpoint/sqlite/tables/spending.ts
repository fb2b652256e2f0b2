/** The budget: reserved before a paid request, refunded when the request was not accepted. Unit: records. */

import { AFTER_ALL_DAYS, hasCaps, NO_RUN, type Payer, refuseAboveCaps } from '../../rows/paid-rows.js';
import type { Budget, Spending } from '../../state.js';
import type { StateDatabase } from '../state-database.js';

interface BudgetChanges {
  /**
   * Reserves records in the budget of the payer's pipeline.
   * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded; this rolls the transaction back.
   */
  reserve(payer: Payer, records: number, budget: Budget): void;
  /** Adds to what the payer has spent on the day, without a cap; refunds if the records are negative. */
  spend(payer: Payer, records: number, day: string): void;
}

/** Prepares the statements. Both functions must be called within a transaction. */
export function budgetChanges(db: StateDatabase): BudgetChanges {
  const pipelineOf = db.prepare<[string], string>('SELECT pipeline FROM runs WHERE id = ?').pluck();
  const spent = spendingRead(db);
  const add = db.prepare(`
    INSERT INTO spending (pipeline, day, run, records) VALUES (@pipeline, @day, @run, @records)
    ON CONFLICT DO UPDATE SET records = records + excluded.records`);

  const rowOf = (payer: Payer) =>
    'run' in payer
      ? { pipeline: pipelineOf.get(payer.run)!, run: payer.run }
      : { pipeline: payer.pipeline, run: NO_RUN };

  return {
    reserve: (payer, records, budget) => {
      const { pipeline, run } = rowOf(payer);
      const { day } = budget;
      if (hasCaps(budget)) refuseAboveCaps(budget, run, spent(pipeline, run, day), records);
      add.run({ pipeline, day, run, records });
    },
    spend: (payer, records, day) => {
      add.run({ ...rowOf(payer), day, records });
    },
  };
}

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
