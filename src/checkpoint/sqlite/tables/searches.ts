/** Paid searches for single failed records (rule "Intent first", docs/architecture.md#intent-first). */
import type { Checkpoint, CheckpointReader } from '../../checkpoint.js';
import { type StoredSearch, toSearch } from '../../rows/paid-rows.js';
import type { Budget } from '../../state.js';
import { expectOneRow, expectRow, type StateDatabase } from '../state-database.js';
import { budgetChanges } from './spending.js';

type SearchMethod = 'recordSearchIntent' | 'recordSearchEnd';

/** Makes `recordSearchIntent` and `recordSearchEnd`. */
export function searchChanges(db: StateDatabase): Pick<Checkpoint, SearchMethod> {
  const budgets = budgetChanges(db);
  const begin = db.prepare(`
    INSERT INTO searches (run, record, state, started_at, day)
    SELECT id, @record, 'intent', @at, @day FROM runs WHERE id = @run AND state = 'open'
    ON CONFLICT DO UPDATE SET state = 'intent', started_at = excluded.started_at, day = excluded.day
    WHERE searches.state = 'dropped'`);
  const end = db.prepare<[object], { day: string }>(`
    UPDATE searches SET state = @state, "values" = @values
    WHERE run = @run AND record = @record AND state = 'intent'
      AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state = 'open') RETURNING day`);

  return {
    recordSearchIntent: db.change((run: string, record: number, at: number, budget: Budget) => {
      const begun = begin.run({ run, record, at, day: budget.day });
      expectOneRow(begun, 'recordSearchIntent', `run ${run} is not open, or has asked for record ${record}`);
      budgets.reserve({ run }, 1, budget);
    }),
    recordSearchEnd: db.outcomeChange(
      (run: string, record: number, ended: Parameters<Checkpoint['recordSearchEnd']>[2]) => {
        const values =
          ended.state === 'answered' && ended.values !== null ? JSON.stringify(ended.values) : null;
        const missing = `run ${run} is not asking for record ${record}`;
        const search = end.get({ run, record, state: ended.state, values });
        const { day } = expectRow(search, 'recordSearchEnd', missing);
        if (ended.state === 'dropped') budgets.refund({ run }, 1, day);
      },
    ),
  };
}

/** Makes `searches`. */
export function searchReads(db: StateDatabase): Pick<CheckpointReader, 'searches'> {
  // Not a bare `LIMIT ?`: see `chunkReads`.
  const page = db.prepare<[string, number, number], StoredSearch>(`
    SELECT record, state, "values", started_at AS startedAt FROM searches
    WHERE run = ? AND record > ? ORDER BY record LIMIT ? + 0`);
  return {
    searches: db.read((run: string, after: number, limit: number) =>
      page.all(run, after, limit).map(toSearch),
    ),
  };
}
