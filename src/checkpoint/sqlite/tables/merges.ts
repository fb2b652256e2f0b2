/** Stretches, whose rows are in the work file. Invariant: they are the first records of the source, without a gap. */

import type { Checkpoint } from '../../checkpoint.js';
import { mergeRefused, toStoredStretch } from '../../rows/chunk-rows.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';

/** Makes `recordMerged`. */
export function mergeChange(db: StateDatabase): Pick<Checkpoint, 'recordMerged'> {
  // The first chunk that is not merged yet must not begin before the stretch, and no chunk in it may lack its answer.
  const merge = db.prepare(`
    INSERT INTO stretches (run, first_record, last_record, records, end_file, end_offset, work_end, sha256,
      successful, failed, unprocessed, indistinct, reused_successful, reused_failed,
      duplicate_successful, duplicate_failed, duplicate_unprocessed, skipped, reasons, merged_at)
    SELECT @run, @firstRecord, @lastRecord, @records, @endFile, @endOffset, @workEnd, @sha256,
      @successful, @failed, @unprocessed, @indistinct, @reusedSuccessful, @reusedFailed,
      @duplicateSuccessful, @duplicateFailed, @duplicateUnprocessed, @skipped, @reasons, @at
    FROM (SELECT coalesce(max(last_record), 0) AS last FROM (
      SELECT last_record FROM stretches WHERE run = @run ORDER BY first_record DESC LIMIT 1))
    WHERE EXISTS (SELECT 1 FROM runs WHERE id = @run)
      AND last < @firstRecord AND @firstRecord <= @lastRecord
      AND @records = @successful + @failed + @unprocessed
      AND NOT EXISTS (
        SELECT 1 FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = 0 AND state <> 'split'
          AND first_record > last AND first_record < @firstRecord)
      AND NOT EXISTS (
        SELECT 1 FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = 0 AND state <> 'split' AND first_record <= @lastRecord
          AND first_record >= coalesce((
            SELECT first_record FROM chunks INDEXED BY chunks_in_order
            WHERE run = @run AND round = 0 AND state <> 'split' AND first_record <= @firstRecord
            ORDER BY first_record DESC LIMIT 1), 0)
          AND last_record >= @firstRecord
          AND state NOT IN ('downloaded', 'unprocessed', 'refused'))`);

  return {
    recordMerged: db.unsyncedChange((run, stretch, at) => {
      const merged = merge.run(toStoredStretch(run, stretch, at));
      expectOneRow(merged, 'recordMerged', mergeRefused(run, stretch));
    }),
  };
}
