/** Stretches, whose rows are in the work file. Invariant: they are the first records of the source, without a gap. */

import { createReasonCounter, type FailureReason } from '../../failure-reasons.js';
import { fenced, HELD } from '../../postgres/fenced.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import { mergeRefused, toStoredStretch, UNMERGE, UNMERGE_FOR_ANSWER } from '../rows/chunk-rows.js';
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

export const unmerge = statement(UNMERGE);
export const unmergeForAnswer = statement(UNMERGE_FOR_ANSWER);

const reasonsOf: Prepared<{ first: number; reasons: string }> = statement(`
  SELECT first_record AS first, reasons FROM stretches
  WHERE run = @run AND first_record > @after AND reasons IS NOT NULL ORDER BY first_record LIMIT @limit`);

const REASONS_PAGE = 1_000;

/** Makes `recordMerged` and `recordUnmerged`. */
export function mergeChanges(db: StateSession): Pick<Checkpoint, 'recordMerged' | 'recordUnmerged'> {
  return {
    recordMerged: async (run, stretch, at) => {
      await db.change(merge, toStoredStretch(run, stretch, at), 'recordMerged', mergeRefused(run, stretch));
    },
    recordUnmerged: (run, fromRecord) =>
      db.changes(async (query) => {
        await query(unmerge, { run, fromRecord });
      }),
  };
}

/** Makes `failureReasons`. */
export function stretchReads(db: StateSession): Pick<CheckpointReader, 'failureReasons'> {
  return {
    failureReasons: async (run) => {
      const counter = createReasonCounter();
      for (let after = 0; ; ) {
        const page = await db.read(reasonsOf, { run, after, limit: REASONS_PAGE });
        for (const { reasons } of page) {
          for (const reason of JSON.parse(reasons) as readonly FailureReason[]) counter.add(reason);
        }
        if (page.length < REASONS_PAGE) return counter.top();
        after = page.at(-1)!.first;
      }
    },
  };
}
