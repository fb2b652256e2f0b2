/**
 * Paid searches that belong to no run. The intent is committed before the request, and its record is reserved in the
 * budget of the pipeline (rule "Intent first", docs/architecture.md#intent-first).
 */
import type { Checkpoint, CheckpointReader, NewSingleSearch, SingleSearch } from '../../checkpoint.js';
import { type StoredSingleSearch, toSingleSearch } from '../../rows/paid-rows.js';
import type { Budget } from '../../state.js';
import { expectOneRow, expectRow, type StateDatabase } from '../state-database.js';
import { budgetChanges } from './spending.js';

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
    recordSingleSearchIntent: db.change((search: NewSingleSearch, budget: Budget) => {
      const { id, pipeline, service, startedAt } = search;
      const row = { id, pipeline, service, startedAt, day: budget.day, state: 'intent', local: null };
      expectOneRow(begin.run(row), 'recordSingleSearchIntent', `there is a search ${id} already`);
      budgets.reserve({ pipeline }, 1, budget);
    }),
    recordSingleSearchEnd: db.outcomeChange(
      (id: string, ended: Parameters<Checkpoint['recordSingleSearchEnd']>[1]) => {
        const local = ended.state === 'answered' ? Number(ended.local) : null;
        const search = end.get({ id, state: ended.state, local });
        const missing = `search ${id} is not being asked`;
        const { pipeline, day } = expectRow(search, 'recordSingleSearchEnd', missing);
        if (ended.state === 'dropped') budgets.refund({ pipeline }, 1, day);
      },
    ),
  };
}

const COLUMNS = 'id, pipeline, service, state, local, started_at AS startedAt, day';

/** Makes `singleSearches`. */
export function singleSearchReads(db: StateDatabase): Pick<CheckpointReader, 'singleSearches'> {
  const page = db.prepare<[{ pipeline: string | null; after: string; limit: number }], StoredSingleSearch>(`
    SELECT ${COLUMNS} FROM single_searches
    WHERE id > @after AND (@pipeline IS NULL OR pipeline = @pipeline) ORDER BY id LIMIT @limit + 0`);
  return {
    singleSearches: db.read((pipeline: string | undefined, after: string, limit: number) =>
      page.all({ pipeline: pipeline ?? null, after, limit }).map(toSingleSearch),
    ),
  };
}

/** Prepares the read of all rows. Must be called within a transaction or `db.read`. */
export function allSingleSearches(db: StateDatabase): () => readonly SingleSearch[] {
  const all = db.prepare<[], StoredSingleSearch>(`SELECT ${COLUMNS} FROM single_searches ORDER BY id`);
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
  return db.change((searches: readonly SingleSearch[]) => {
    let added = 0;
    for (const search of searches) {
      // The process that sent it has ended.
      const state = search.state === 'intent' ? 'ambiguous' : search.state;
      const local = search.local === null ? null : Number(search.local);
      if (put.run({ ...search, state, local }).changes === 0) continue;
      added += 1;
      const { pipeline, day } = search;
      const uncapped = { day, perRun: null, perDay: null, perMonth: null };
      if (state !== 'dropped') budgets.reserve({ pipeline }, 1, uncapped);
    }
    return added;
  });
}
