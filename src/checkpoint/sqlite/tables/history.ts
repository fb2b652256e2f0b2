/** Reads for reports on a run and on the nights before it, and the tally of a run. */
import type { Answered, CheckpointReader, Tally } from '../../checkpoint.js';
import {
  type MergedRow,
  type SearchesRow,
  type StateRow,
  type StoredNight,
  type StoredTimes,
  toNight,
  toTally,
  toTimes,
  type UploadsRow,
} from '../../rows/report-rows.js';
import type { StateDatabase } from '../state-database.js';

/** Makes `nights`, `nightOf` and `chunkTimes`. */
export function historyReads(db: StateDatabase): Pick<CheckpointReader, 'nights' | 'nightOf' | 'chunkTimes'> {
  const nights = db.prepare<[string, number, number], StoredNight>(`
    SELECT number AS publication, run, night FROM publications
    WHERE pipeline = ? AND number <= ? AND night IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run AND record_limit IS NOT NULL)
    ORDER BY number DESC LIMIT ? + 0`);
  const ofRun = db.prepare<[string], StoredNight>(`
    SELECT number AS publication, run, night FROM publications
    WHERE run = ? AND night IS NOT NULL ORDER BY number DESC LIMIT 1`);
  // A dropped attempt was not accepted: it is a part of the wait.
  const times = db.prepare<[string, number, number], StoredTimes>(`
    SELECT number, round, records, state, attempt, folio, successful, failed, cause, cut_at AS cutAt,
      (SELECT max(started_at) FROM uploads
        WHERE uploads.run = chunks.run AND chunk = number AND uploads.state <> 'dropped') AS uploadAt,
      submitted_at AS submittedAt, finished_at AS finishedAt, downloaded_at AS downloadedAt,
      iif(round > 0, NULL, (SELECT iif(merged.last_record >= chunks.last_record, merged_at, NULL)
        FROM stretches AS merged WHERE merged.run = chunks.run AND merged.first_record <= chunks.last_record
        ORDER BY merged.first_record DESC LIMIT 1)) AS mergedAt
    FROM chunks WHERE run = ? AND number > ? AND state <> 'split' ORDER BY number LIMIT ? + 0`);

  return {
    nights: db.read((pipeline: string, limit: number, upTo = Number.MAX_SAFE_INTEGER) =>
      nights.all(pipeline, upTo, limit).map(toNight),
    ),
    nightOf: db.read((run: string) => {
      const found = ofRun.get(run);
      return found && toNight(found);
    }),
    chunkTimes: db.read((run: string, after: number, limit: number) =>
      times.all(run, after, limit).map(toTimes),
    ),
  };
}

/**
 * Makes `tally` and `answered`. The tally is read from indexes only, so that it is fast even with a hundred thousand
 * chunks.
 */
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

  // A record of a round has failed before, and was counted then. It counts once, with its last answer. No index covers
  // this.
  const answered = db.prepare<[string], Answered>(`
    SELECT coalesce(sum(iif(round = 0, records, 0)), 0) AS records,
      coalesce(sum(failed - iif(round = 0, 0, records)), 0) AS failed
    FROM chunks WHERE run = ? AND state IN ('downloaded', 'refused')`);

  return {
    answered: db.read((run: string) => answered.get(run)!),
    tally: db.readTogether((run: string): Tally => {
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
