/** A stretch as both databases store it. */
import type { FailureReason } from '../../failure-reasons.js';
import type { Stretch } from '../state.js';

/** A row of the table `stretches`. */
export interface StoredStretch {
  first_record: number;
  last_record: number;
  records: number;
  end_file: number;
  end_offset: number;
  work_end: number;
  sha256: string | null;
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
  reasons: string | null;
}

export function toStretchIfAny(row: StoredStretch | undefined): Stretch | undefined {
  return (
    row && {
      firstRecord: row.first_record,
      lastRecord: row.last_record,
      records: row.records,
      end: { file: row.end_file, offset: row.end_offset },
      counts: {
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
      },
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
