/**
 * The tally of a run. It is read from indexes only, so that it is fast even with a hundred thousand chunks.
 */
import type { CheckpointReader } from '../../checkpoint.js';
import {
  type MergedRow,
  type SearchesRow,
  type StateRow,
  toTally,
  type UploadsRow,
} from '../../rows/report-rows.js';
import type { StateDatabase } from '../state-database.js';

/** Makes `tally`. */
export function tallyReads(db: StateDatabase): Pick<CheckpointReader, 'tally'> {
  const byState = db.prepare<[string], StateRow>(`
    SELECT state, count(*) AS chunks, sum(records) AS records FROM chunks WHERE run = ? GROUP BY state`);
  const merged = db.prepare<[string], MergedRow>(`
    SELECT coalesce(sum(records), 0) AS records, coalesce(max(last_record), 0) AS last,
      coalesce(sum(successful), 0) AS successful, coalesce(sum(failed), 0) AS failed,
      coalesce(sum(unprocessed), 0) AS unprocessed, coalesce(sum(indistinct), 0) AS indistinct,
      coalesce(sum(reused_successful), 0) AS reusedSuccessful, coalesce(sum(reused_failed), 0) AS reusedFailed,
      coalesce(sum(duplicate_successful), 0) AS duplicateSuccessful,
      coalesce(sum(duplicate_failed), 0) AS duplicateFailed,
      coalesce(sum(duplicate_unprocessed), 0) AS duplicateUnprocessed,
      coalesce(sum(skipped), 0) AS skipped
    FROM stretches WHERE run = ?`);
  const chunksUpTo = db
    .prepare<[string, number], number>(`
      SELECT count(*) FROM chunks INDEXED BY chunks_in_order
      WHERE run = ? AND round = 0 AND state <> 'split' AND last_record <= ?`)
    .pluck();
  const uploads = db.prepare<[{ run: string }], UploadsRow>(`
    WITH doubt AS (
      SELECT chunk, count(*) AS attempts, sum(records) AS records
      FROM uploads WHERE run = @run AND state = 'ambiguous' GROUP BY chunk)
    SELECT
      (SELECT count(*) FROM uploads WHERE run = @run AND state = 'accepted') AS accepted,
      (SELECT coalesce(sum(attempts), 0) FROM doubt) AS ambiguous,
      (SELECT coalesce(sum(records), 0) FROM doubt) AS ambiguousRecords,
      (SELECT count(*) FROM uploads later
        WHERE run = @run AND attempt > 1 AND state IN ('accepted', 'ambiguous') AND EXISTS (
          SELECT 1 FROM uploads WHERE run = @run AND chunk = later.chunk AND attempt < later.attempt
            AND state IN ('accepted', 'ambiguous'))) AS resubmitted`);
  const searches = db.prepare<[string], SearchesRow>(`
    SELECT state, count(*) AS count FROM searches INDEXED BY searches_by_state WHERE run = ? GROUP BY state`);

  return {
    tally: db.readTogether((run) => {
      const rows = merged.get(run)!;
      return toTally({
        byState: byState.all(run),
        merged: rows,
        chunksMerged: chunksUpTo.get(run, rows.last)!,
        uploads: uploads.get({ run })!,
        searches: searches.all(run),
      });
    }),
  };
}
