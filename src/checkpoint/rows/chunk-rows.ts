/** Chunks and merged stretches as both databases store them. */

import type { FailureReason } from '../../failure-reasons.js';
import type { UnprocessedCause } from '../../types.js';
import type { ChunkRow, ChunkState, RowCounts, Stretch } from '../state.js';

/** A row of the table `chunks`. */
export interface StoredChunk {
  number: number;
  round: number;
  first_record: number;
  last_record: number;
  records: number;
  start_file: number;
  start_offset: number;
  end_file: number;
  end_offset: number;
  bytes: number;
  sha256: string;
  state: ChunkState;
  attempt: number;
  folio: string | null;
  submitted_at: number | null;
  successful: number | null;
  failed: number | null;
  cause: UnprocessedCause | null;
  refusal: string | null;
}

export function toChunkIfAny(row: StoredChunk | undefined): ChunkRow | undefined {
  return row && toChunk(row);
}

export function toChunk(row: StoredChunk): ChunkRow {
  return {
    number: row.number,
    firstRecord: row.first_record,
    lastRecord: row.last_record,
    records: row.records,
    start: { file: row.start_file, offset: row.start_offset },
    end: { file: row.end_file, offset: row.end_offset },
    bytes: row.bytes,
    sha256: row.sha256,
    state: row.state,
    round: row.round,
    attempt: row.attempt,
    folio: row.folio,
    submittedAt: row.submitted_at,
    counts: row.successful === null ? null : { successful: row.successful, failed: row.failed ?? 0 },
    cause: row.cause,
    refusal: row.refusal,
  };
}

export const CHUNK_BY_NUMBER = 'SELECT * FROM chunks WHERE run = @run AND number = @chunk';
export const PICKED_RECORDS = 'SELECT numbers FROM picked_records WHERE run = @run AND chunk = @chunk';

/** The stored parts of a chunk: SUCCESSFUL sorts after FAILED. */
export const STORED_PARTS = `
  SELECT file_status AS "fileStatus", part, bytes, sha256, records FROM parts
  WHERE run = @run AND chunk = @chunk AND sha256 IS NOT NULL ORDER BY file_status DESC, part`;

/** The columns of merged rows, or their sums. */
export interface StoredCounts {
  successful: number;
  failed: number;
  unprocessed: number;
  indistinct: number;
  reused_successful: number;
  reused_failed: number;
  duplicate_successful: number;
  duplicate_failed: number;
  duplicate_unprocessed: number;
  skipped: number;
}

export function toRowCounts(row: StoredCounts): RowCounts {
  return {
    successful: row.successful,
    failed: row.failed,
    unprocessed: row.unprocessed,
    indistinct: row.indistinct,
    reused: { successful: row.reused_successful, failed: row.reused_failed },
    duplicates: {
      successful: row.duplicate_successful,
      failed: row.duplicate_failed,
      unprocessed: row.duplicate_unprocessed,
    },
    skipped: row.skipped,
  };
}

/** A row of the table `stretches`. */
export interface StoredStretch extends StoredCounts {
  first_record: number;
  last_record: number;
  records: number;
  end_file: number;
  end_offset: number;
  work_end: number;
  sha256: string | null;
  reasons: string | null;
}

export function toStretchIfAny(row: StoredStretch | undefined): Stretch | undefined {
  return (
    row && {
      firstRecord: row.first_record,
      lastRecord: row.last_record,
      records: row.records,
      end: { file: row.end_file, offset: row.end_offset },
      counts: toRowCounts(row),
      workEnd: row.work_end,
      sha256: row.sha256,
      ...(row.reasons !== null && { reasons: JSON.parse(row.reasons) as FailureReason[] }),
    }
  );
}

/** The parameters of the statement that adds a stretch. */
export function toStoredStretch(run: string, stretch: Stretch, at: number | undefined) {
  const { firstRecord, lastRecord, records, end, counts, workEnd, sha256, reasons } = stretch;
  const { successful, failed, unprocessed, indistinct, reused, duplicates, skipped } = counts;
  return {
    run,
    firstRecord,
    lastRecord,
    records,
    endFile: end.file,
    endOffset: end.offset,
    workEnd,
    sha256,
    successful,
    failed,
    unprocessed,
    indistinct,
    reusedSuccessful: reused.successful,
    reusedFailed: reused.failed,
    duplicateSuccessful: duplicates.successful,
    duplicateFailed: duplicates.failed,
    duplicateUnprocessed: duplicates.unprocessed,
    skipped,
    reasons: reasons === undefined ? null : JSON.stringify(reasons),
    at: at ?? null,
  };
}

/** Why a stretch was not added. */
export function mergeRefused(run: string, { firstRecord, lastRecord }: Stretch): string {
  const span = `records ${firstRecord} to ${lastRecord} of run ${run}`;
  return `${span} are not the next to merge, have no answer yet, or have other counts`;
}

const TAKE_OUT = 'DELETE FROM stretches WHERE run = @run';

/** Deletes the stretches of `@run` that end at `@fromRecord` or after it. */
export const UNMERGE = `${TAKE_OUT} AND last_record >= @fromRecord
  AND first_record >= coalesce((SELECT first_record FROM stretches
    WHERE run = @run AND first_record <= @fromRecord ORDER BY first_record DESC LIMIT 1), 0)`;

/**
 * Like `UNMERGE`, for a chunk that was given up and is answered now. Unmerges all rows of a run without columns: the
 * answer may be the first success, and earlier rows need its columns too.
 */
export const UNMERGE_FOR_ANSWER = `${TAKE_OUT} AND (last_record >= @fromRecord
    OR EXISTS (SELECT 1 FROM runs WHERE id = @run AND (columns IS NULL OR columns = '[]')))`;
