/** The tally of a run. It is read from indexes only, so that it is fast even with a hundred thousand chunks. */
import type { CheckpointReader, ChunkCounts, ChunkState, Search, Tally } from '../checkpoint.js';
import type { StateDatabase } from './state-database.js';

interface StateRow {
  state: ChunkState;
  chunks: number;
  records: number;
}

interface MergedRow extends ChunkCounts {
  chunks: number;
  records: number;
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

/** Makes `tally`. */
export function tallyRead(db: StateDatabase): Pick<CheckpointReader, 'tally'> {
  const byState = db.prepare<[string], StateRow>(`
    SELECT state, count(*) AS chunks, sum(records) AS records FROM chunks WHERE run = ? GROUP BY state`);
  const merged = db.prepare<[string], MergedRow>(`
    SELECT count(*) AS chunks, coalesce(sum(records), 0) AS records,
      coalesce(sum(merged_successful), 0) AS successful, coalesce(sum(merged_failed), 0) AS failed,
      coalesce(sum(merged_unprocessed), 0) AS unprocessed, coalesce(sum(merged_indistinct), 0) AS indistinct
    FROM chunks INDEXED BY chunks_merged WHERE run = ? AND merged_end IS NOT NULL`);
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

  return {
    tally: db.readTogether((run: string): Tally => {
      const chunks = { ...NONE };
      const records = { ...NONE };
      for (const row of byState.all(run)) {
        chunks[row.state] = row.chunks;
        records[row.state] = row.records;
      }
      const { chunks: mergedChunks, records: mergedRecords, ...counts } = merged.get(run)!;
      const { ambiguousRecords, ...attempts } = uploads.get({ run })!;
      const asked = { answered: 0, ambiguous: 0 };
      for (const { state, count } of searches.all(run)) {
        if (state === 'answered' || state === 'ambiguous') asked[state] = count;
      }
      return {
        chunks,
        records,
        merged: { chunks: mergedChunks, records: mergedRecords },
        counts,
        uploads: attempts,
        searches: asked,
        ambiguousRecords: ambiguousRecords + asked.ambiguous,
      };
    }),
  };
}
