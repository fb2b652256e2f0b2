/** Stretches, whose rows are in the work file. Invariant: they are the first records of the source, without a gap. */

import { fenced, HELD } from '../../postgres/fenced.js';
import type { Checkpoint } from '../checkpoint.js';
import { mergeRefused, toStoredStretch } from '../rows/chunk-rows.js';
import type { StateSession } from './state-session.js';

// The first chunk that is not merged yet must not begin before the stretch, and no chunk in it may lack its answer.
const merge = fenced(`
  before AS (
    SELECT coalesce((SELECT last_record FROM stretches WHERE run = @run
      ORDER BY first_record DESC LIMIT 1), 0) AS last),
  merged AS (
    INSERT INTO stretches (run, first_record, last_record, records, end_file, end_offset, work_end, sha256,
      successful, failed, unprocessed, indistinct, reused_successful, reused_failed,
      duplicate_successful, duplicate_failed, duplicate_unprocessed, skipped, reasons, merged_at)
    SELECT @run, @firstRecord, @lastRecord, @records::int8, @endFile::int8, @endOffset::int8, @workEnd::int8,
      @sha256::text, @successful::int8, @failed::int8, @unprocessed::int8, @indistinct::int8,
      @reusedSuccessful::int8, @reusedFailed::int8, @duplicateSuccessful::int8, @duplicateFailed::int8,
      @duplicateUnprocessed::int8, @skipped::int8, @reasons::text, @at::int8
    FROM before
    WHERE ${HELD} AND EXISTS (SELECT 1 FROM runs WHERE id = @run)
      AND last < @firstRecord AND @firstRecord <= @lastRecord
      AND @records::int8 = @successful::int8 + @failed::int8 + @unprocessed::int8
      AND NOT EXISTS (
        SELECT 1 FROM chunks
        WHERE run = @run AND round = 0 AND state <> 'split'
          AND first_record > last AND first_record < @firstRecord)
      AND NOT EXISTS (
        SELECT 1 FROM chunks
        WHERE run = @run AND round = 0 AND state <> 'split' AND first_record <= @lastRecord
          AND first_record >= coalesce((
            SELECT first_record FROM chunks
            WHERE run = @run AND round = 0 AND state <> 'split' AND first_record <= @firstRecord
            ORDER BY first_record DESC LIMIT 1), 0)
          AND last_record >= @firstRecord
          AND state NOT IN ('downloaded', 'unprocessed', 'refused'))
    RETURNING first_record)
  SELECT * FROM merged`);

/** Makes `recordMerged`. */
export function mergeChange(db: StateSession): Pick<Checkpoint, 'recordMerged'> {
  return {
    recordMerged: async (run, stretch, at) => {
      await db.change(merge, toStoredStretch(run, stretch, at), 'recordMerged', mergeRefused(run, stretch));
    },
  };
}
