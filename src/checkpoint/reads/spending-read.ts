/** What was spent: by a run, and by its pipeline on a day and in a month. */
import type { Spending } from '../state.js';
import type { StateDatabase } from '../state-database.js';

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
