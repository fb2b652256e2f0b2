/**
 * The tally of a run. It is read from indexes only, so that it is fast even with a hundred thousand chunks. How many
 * records failed stands in no index.
 */
import type { Answered, CheckpointReader, ChunkState, RowCounts, Search, Tally } from '../checkpoint.js';
import type { StateDatabase } from './state-database.js';

interface StateRow {
  state: ChunkState;
  chunks: number;
  records: number;
}

interface MergedRow extends Pick<RowCounts, 'successful' | 'failed' | 'unprocessed' | 'indistinct'> {
  records: number;
  last: number;
  reusedSuccessful: number;
  reusedFailed: number;
  duplicateSuccessful: number;
  duplicateFailed: number;
  duplicateUnprocessed: number;
  skipped: number;
}

interface UploadsRow {
  accepted: number;
  ambiguous: number;
  resubmitted: number;
  ambiguousRecords: number;
}

const NONE: Readonly<Record<ChunkState, number>> = {
  cut: 0,
  uploading: 0,
  ambiguous: 0,
  submitted: 0,
  finished: 0,
  downloaded: 0,
  unprocessed: 0,
  refused: 0,
  split: 0,
};

/** Makes `tally` and `answered`. */
export function tallyReads(db: StateDatabase): Pick<CheckpointReader, 'tally' | 'answered'> {
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
  // Resubmitted means: sent after an ambiguous attempt of the same chunk, and not dropped.
  const uploads = db.prepare<[{ run: string }], UploadsRow>(`
    WITH doubt AS (
      SELECT chunk, count(*) AS attempts, min(attempt) AS first, sum(records) AS records
      FROM uploads WHERE run = @run AND state = 'ambiguous' GROUP BY chunk)
    SELECT
      (SELECT count(*) FROM uploads WHERE run = @run AND state = 'accepted') AS accepted,
      (SELECT coalesce(sum(attempts), 0) FROM doubt) AS ambiguous,
      (SELECT coalesce(sum(records), 0) FROM doubt) AS ambiguousRecords,
      (SELECT count(*) FROM doubt CROSS JOIN uploads u ON u.run = @run AND u.chunk = doubt.chunk
        WHERE u.attempt > doubt.first AND u.state IN ('accepted', 'ambiguous')) AS resubmitted`);
  const searches = db.prepare<[string], { state: Search['state']; count: number }>(`
    SELECT state, count(*) AS count FROM searches INDEXED BY searches_by_state WHERE run = ? GROUP BY state`);

  // A record of a round has failed before: it counts there, and here with its last answer.
  const answered = db.prepare<[string], Answered>(`
    SELECT coalesce(sum(iif(round = 0, records, 0)), 0) AS records,
      coalesce(sum(failed - iif(round = 0, 0, records)), 0) AS failed
    FROM chunks WHERE run = ? AND state IN ('downloaded', 'refused')`);

  return {
    answered: db.read((run: string) => answered.get(run)!),
    tally: db.readTogether((run: string): Tally => {
      const chunks = { ...NONE };
      const records = { ...NONE };
      for (const row of byState.all(run)) {
        chunks[row.state] = row.chunks;
        records[row.state] = row.records;
      }
      const rows = merged.get(run)!;
      const { successful, failed, unprocessed, indistinct } = rows;
      const { ambiguousRecords, ...attempts } = uploads.get({ run })!;
      const asked = { answered: 0, ambiguous: 0 };
      for (const { state, count } of searches.all(run)) {
        if (state === 'answered' || state === 'ambiguous') asked[state] = count;
      }
      return {
        chunks,
        records,
        merged: { chunks: chunksUpTo.get(run, rows.last)!, records: rows.records },
        counts: {
          successful,
          failed,
          unprocessed,
          indistinct,
          reused: { successful: rows.reusedSuccessful, failed: rows.reusedFailed },
          duplicates: {
            successful: rows.duplicateSuccessful,
            failed: rows.duplicateFailed,
            unprocessed: rows.duplicateUnprocessed,
          },
          skipped: rows.skipped,
        },
        uploads: attempts,
        searches: asked,
        ambiguousRecords: ambiguousRecords + asked.ambiguous,
      };
    }),
  };
}
