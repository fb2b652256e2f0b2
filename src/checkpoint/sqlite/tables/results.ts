/**
 * The results of chunks: the parts, from the finished folio to the downloaded chunk; then stretches, whose rows are in the
 * work file. Invariant: stretches are the first records of the source, without a gap.
 */
import type { PartReference, StoredPart } from '../../../types.js';
import type { ResultChanges } from '../../checkpoint.js';
import { expectRow } from '../../rows/change.js';
import { ADD_PART, FORGET_PARTS } from '../../rows/chunk-changes.js';
import { mergeRefused, STORED_PARTS, toStoredStretch } from '../../rows/chunk-rows.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';
import { chunkChange } from './chunks.js';

/** Makes the four changes from a submitted chunk to its merged rows, and the read of the parts that the download expects. */
export function resultChanges(db: StateDatabase): ResultChanges {
  const storedParts = db.prepare<object, StoredPart>(STORED_PARTS);
  const listedParts = db.prepare<[string, number], PartReference>(`
    SELECT file_status AS fileStatus, part FROM parts WHERE run = ? AND chunk = ? ORDER BY file_status DESC, part`);
  const finish = chunkChange(
    db,
    `UPDATE chunks SET state = 'finished', successful = @successful, failed = @failed, finished_at = @at
    WHERE run = @run AND number = @chunk AND state = 'submitted'`,
  );
  const forgetParts = db.prepare(FORGET_PARTS);
  const addPart = db.prepare<object>(ADD_PART);
  const storePart = db.prepare(`
    UPDATE parts SET bytes = @bytes, sha256 = @sha256, records = @records
    WHERE run = @run AND chunk = @chunk AND file_status = @fileStatus AND part = @part AND EXISTS
      (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND state = 'finished')`);
  const complete = chunkChange(
    db,
    `UPDATE chunks SET state = 'downloaded', downloaded_at = @at
    WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') AND NOT EXISTS
      (SELECT 1 FROM parts WHERE run = @run AND chunk = @chunk AND sha256 IS NULL)`,
  );
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
    listedParts: db.read((run, chunk) => listedParts.all(run, chunk)),
    recordFinished: db.unsyncedChange((run, chunk, counts, parts, at) => {
      const { successful, failed } = counts;
      const missing = `no chunk ${chunk} of run ${run} that is submitted`;
      const values = { run, chunk, successful, failed, at: at ?? null };
      const finished = expectRow(finish(values), 'recordFinished', missing);
      const stored = storedParts.all({ run, chunk });
      forgetParts.run({ run, chunk });
      for (const { fileStatus, part } of parts) {
        const isThis = (one: PartReference) => one.fileStatus === fileStatus && one.part === part;
        const listed = stored.find(isThis) ?? { ...NOT_STORED, fileStatus, part };
        const doubled = `${fileStatus} part ${part} of chunk ${chunk} of run ${run} is listed twice`;
        expectRow(addPart.get({ ...listed, run, chunk }), 'recordFinished', doubled);
      }
      return finished;
    }),
    recordParts: db.unsyncedChange((run, chunk, parts) => {
      for (const { fileStatus, part, bytes, sha256, records } of parts) {
        const stored = storePart.run({ run, chunk, fileStatus, part, bytes, sha256, records });
        const missing = `no finished chunk ${chunk} of run ${run} that lists ${fileStatus} part ${part}`;
        expectOneRow(stored, 'recordParts', missing);
      }
    }),
    recordDownloaded: db.change((run, chunk, at) => {
      const missing = `no finished chunk ${chunk} of run ${run} with all its listed parts stored`;
      return expectRow(complete({ run, chunk, at: at ?? null }), 'recordDownloaded', missing);
    }),
    recordMerged: db.unsyncedChange((run, stretch, at) => {
      const merged = merge.run(toStoredStretch(run, stretch, at));
      expectOneRow(merged, 'recordMerged', mergeRefused(run, stretch));
    }),
  };
}

/** A listed part that is not stored yet. */
const NOT_STORED = { bytes: null, sha256: null, records: null };
