/** Merged chunks, which are in the work file. Invariant: they are the first chunks of the source, without a gap. */
import type { Checkpoint, ChunkCounts } from '../checkpoint.js';
import { expectOneRow, type StateDatabase } from './state-database.js';

/** Makes `recordMerged` and `recordUnmerged`. */
export function mergeChanges(db: StateDatabase): Pick<Checkpoint, 'recordMerged' | 'recordUnmerged'> {
  // Not one IN with three values, because SQLite makes a table for more than two at each call.
  const merge = db.prepare(`
    UPDATE chunks SET merged_end = @mergedEnd, merged_successful = @successful, merged_failed = @failed,
      merged_unprocessed = @unprocessed, merged_indistinct = @indistinct, merged_sha256 = @sha256
    WHERE run = @run AND number = @chunk AND round = 0 AND merged_end IS NULL
      AND (state = 'downloaded' OR state IN ('unprocessed', 'refused'))
      AND records = @successful + @failed + @unprocessed
      AND NOT EXISTS (
        SELECT 1 FROM (
          SELECT merged_end FROM chunks AS before INDEXED BY chunks_in_order
          WHERE before.run = @run AND before.round = 0 AND before.state <> 'split'
            AND before.first_record < chunks.first_record
          ORDER BY before.first_record DESC LIMIT 1)
        WHERE merged_end IS NULL)`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordMerged: db.unsyncedChange(
      (run: string, chunk: number, counts: ChunkCounts, mergedEnd: number, sha256: string) => {
        const { successful, failed, unprocessed, indistinct } = counts;
        const merged = merge.run({
          run,
          chunk,
          successful,
          failed,
          unprocessed,
          indistinct,
          mergedEnd,
          sha256,
        });
        const missing = `chunk ${chunk} of run ${run} is not the next to merge, or has other counts`;
        expectOneRow(merged, 'recordMerged', missing);
      },
    ),
    recordUnmerged: db.change((run: string, fromRecord: number) => {
      unmerge.run({ run, fromRecord });
    }),
  };
}

const TAKE_OUT = `
  UPDATE chunks INDEXED BY chunks_merged
  SET merged_end = NULL, merged_successful = NULL, merged_failed = NULL,
    merged_unprocessed = NULL, merged_indistinct = NULL, merged_sha256 = NULL
  WHERE run = @run AND merged_end IS NOT NULL`;

/** Unmerges the chunks of `@run` that begin at `@fromRecord` or after it. */
export const UNMERGE = `${TAKE_OUT} AND first_record >= @fromRecord`;

/**
 * The same for a chunk that was given up and is answered now. Unmerges all chunks of a run without columns: the answer
 * may be the first success, and earlier rows need its columns too.
 */
export const UNMERGE_FOR_ANSWER = `${TAKE_OUT} AND (first_record >= @fromRecord
    OR EXISTS (SELECT 1 FROM runs WHERE id = @run AND (columns IS NULL OR columns = '[]')))`;
