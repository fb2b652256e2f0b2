/** Searches of failed records, by record. */
import type { CheckpointReader, Search } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

interface SearchRow {
  record: number;
  state: Search['state'];
  values: string | null;
  startedAt: number;
}

/** Makes `searches`. */
export function searchReads(db: StateDatabase): Pick<CheckpointReader, 'searches'> {
  // Not `LIMIT ?`: see the chunks' reads.
  const page = db.prepare<[string, number, number], SearchRow>(`
    SELECT record, state, "values", started_at AS startedAt FROM searches
    WHERE run = ? AND record > ? ORDER BY record LIMIT ? + 0`);
  return {
    searches: db.read((run: string, after: number, limit: number) =>
      page.all(run, after, limit).map(
        (row): Search => ({
          ...row,
          values: row.values === null ? null : (JSON.parse(row.values) as Search['values']),
        }),
      ),
    ),
  };
}
