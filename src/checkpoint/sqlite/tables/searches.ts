/**
 * Paid searches: for single failed records of a run, and those that belong to no run. The intent is committed before the
 * request, and its record is reserved in the budget (rule "Intent first", docs/architecture.md#intent-first).
 */
import type { Checkpoint, SingleSearch } from '../../checkpoint.js';
import { expectRow } from '../../rows/change.js';
import { SINGLE_SEARCH_COLUMNS, type StoredSingleSearch, toSingleSearch } from '../../rows/paid-rows.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';
import { budgetChanges } from './spending.js';

/** Makes `recordSearchIntent` and `recordSearchEnd`. */
export function searchChanges(db: StateDatabase): Pick<Checkpoint, 'recordSearchIntent' | 'recordSearchEnd'> {
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
    recordSearchIntent: db.change((run, record, at, budget) => {
      const begun = begin.run({ run, record, at, day: budget.day });
      expectOneRow(begun, 'recordSearchIntent', `run ${run} is not open, or has asked for record ${record}`);
      budgets.reserve({ run }, 1, budget);
    }),
    recordSearchEnd: db.outcomeChange((run, record, ended) => {
      const values =
        ended.state === 'answered' && ended.values !== null ? JSON.stringify(ended.values) : null;
      const missing = `run ${run} is not asking for record ${record}`;
      const search = end.get({ run, record, state: ended.state, values });
      const { day } = expectRow(search, 'recordSearchEnd', missing);
      if (ended.state === 'dropped') budgets.spend({ run }, -1, day);
    }),
  };
}

const INSERT = `
  INSERT INTO single_searches (id, pipeline, service, state, local, started_at, day)
  VALUES (@id, @pipeline, @service, @state, @local, @startedAt, @day) ON CONFLICT (id) DO NOTHING`;

/** Makes `recordSingleSearchIntent` and `recordSingleSearchEnd`. */
export function singleSearchChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordSingleSearchIntent' | 'recordSingleSearchEnd'> {
  const budgets = budgetChanges(db);
  const begin = db.prepare(INSERT);
  const end = db.prepare<[object], { pipeline: string; day: string }>(`
    UPDATE single_searches SET state = @state, local = @local WHERE id = @id AND state = 'intent'
    RETURNING pipeline, day`);

  return {
    recordSingleSearchIntent: db.change((search, budget) => {
      const { id, pipeline, service, startedAt } = search;
      const row = { id, pipeline, service, startedAt, day: budget.day, state: 'intent', local: null };
      expectOneRow(begin.run(row), 'recordSingleSearchIntent', `there is a search ${id} already`);
      budgets.reserve({ pipeline }, 1, budget);
    }),
    recordSingleSearchEnd: db.outcomeChange((id, ended) => {
      const local = ended.state === 'answered' ? Number(ended.local) : null;
      const search = end.get({ id, state: ended.state, local });
      const missing = `search ${id} is not being asked`;
      const { pipeline, day } = expectRow(search, 'recordSingleSearchEnd', missing);
      if (ended.state === 'dropped') budgets.spend({ pipeline }, -1, day);
    }),
  };
}

/** Prepares the read of all rows. Must be called within a transaction or `db.read`. */
export function allSingleSearches(db: StateDatabase): () => readonly SingleSearch[] {
  const all = db.prepare<[], StoredSingleSearch>(
    `SELECT ${SINGLE_SEARCH_COLUMNS} FROM single_searches ORDER BY id`,
  );
  return () => all.all().map(toSingleSearch);
}

/**
 * Prepares the insertion of searches from the journal, which is one transaction. Known ones stay as they are.
 * @returns a function that returns the number of added rows.
 */
export function singleSearchInsertion(
  db: StateDatabase,
): (searches: readonly SingleSearch[]) => Promise<number> {
  const budgets = budgetChanges(db);
  const put = db.prepare(INSERT);
  return db.change((searches) => {
    let added = 0;
    for (const search of searches) {
      // The process that sent it has ended.
      const state = search.state === 'intent' ? 'ambiguous' : search.state;
      const local = search.local === null ? null : Number(search.local);
      if (put.run({ ...search, state, local }).changes === 0) continue;
      added += 1;
      const { pipeline, day } = search;
      if (state !== 'dropped') budgets.spend({ pipeline }, 1, day);
    }
    return added;
  });
}
