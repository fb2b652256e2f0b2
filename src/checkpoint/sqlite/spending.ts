/** The budget's only two movements: records are taken out before a paid request, and given back if it was none. */
import { GuardError } from '../../errors.js';
import type { Budget, Spending } from '../state.js';
import type { StateDatabase } from './state-database.js';

export interface Spend {
  /**
   * Takes records out of the budget of a run's pipeline.
   * @throws GuardError `BUDGET_REACHED` when a cap would be passed; inside a transaction, which is thereby undone.
   */
  take(run: string, records: number, budget: Budget): void;
  /** Gives records back to the day on which they were taken. */
  giveBack(run: string, records: number, day: string): void;
}

/** The statements are prepared once; the movements belong into a transaction. */
export function spendChanges(db: StateDatabase): Spend {
  const pipelineOf = db.prepare<[string], string>('SELECT pipeline FROM runs WHERE id = ?').pluck();
  const spent = spendingRead(db);
  const add = db.prepare(`
    INSERT INTO spending (pipeline, day, run, records) VALUES (@pipeline, @day, @run, @records)
    ON CONFLICT DO UPDATE SET records = records + excluded.records`);

  return {
    take: (run, records, budget) => {
      const pipeline = pipelineOf.get(run)!;
      const { day, perRun, perDay, perMonth } = budget;
      if (perRun !== null || perDay !== null || perMonth !== null) {
        const so = spent(pipeline, run, day);
        refuseAbove('perRun', perRun, so.run, records);
        refuseAbove('perDay', perDay, so.day, records);
        refuseAbove('perMonth', perMonth, so.month, records);
      }
      add.run({ pipeline, day, run, records });
    },
    giveBack: (run, records, day) => {
      add.run({ pipeline: pipelineOf.get(run)!, day, run, records: -records });
    },
  };
}

function refuseAbove(cap: string, limit: number | null, spent: number, records: number): void {
  if (limit === null || spent + records <= limit) return;
  throw new GuardError(
    'BUDGET_REACHED',
    `budget.${cap} is ${limit} records: ${spent} are spent, and the next request holds ${records}`,
    { facts: { cap, limit, spent, records } },
  );
}

// What was spent: by a run, and by its pipeline on a day and in a month.

/** Days sort as texts, so a month is everything from its first letters to their end. */
const AFTER_ALL_DAYS = '~';

/** Prepares the sums, to be read within a transaction. */
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
