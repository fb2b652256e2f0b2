/**
 * The parts of a folio: tells when they are complete (docs/architecture.md#what-the-interface-leaves-open), fetches one
 * to the disk, and checks that their records balance.
 */
import type { DownloadRequest, FolioReport } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { countRecords } from '../../csv/kernel/count-records.js';
import { MismatchError } from '../../errors.js';
import { MAX_PART_BYTES } from '../../results/part-table.js';
import type { RunContext } from '../../run-context.js';
import type { FolioCounts, PartReference, StoredPart } from '../../types.js';
import { checkSameService } from '../submit/check-replies.js';

/**
 * Whether the folio is FINISHED, has both counts, and lists successful parts for all successful records. If the ranges
 * of the parts cannot be read, one listed part is enough: its records are counted after the download.
 */
export function isComplete(report: FolioReport): boolean {
  if (report.status !== 'FINISHED' || report.counts === null) return false;
  const { successful } = report.counts;
  if (successful === 0) return true;
  if (report.successfulParts.length === 0) return false;
  return report.listedRecords === null || report.listedRecords >= successful;
}

/** The parts of a complete folio. The part with failed records is listed only if records failed. */
export function listParts(report: FolioReport): PartReference[] {
  const { successful, failed } = report.counts!;
  const parts: PartReference[] =
    successful === 0 ? [] : report.successfulParts.map((part) => ({ fileStatus: 'SUCCESSFUL', part }));
  return failed === 0 ? parts : [...parts, { fileStatus: 'FAILED', part: report.failedPart }];
}

/**
 * Downloads a part to a file. Stored files of the same part with other content are kept.
 * @param until once aborted, one answer that the folio or the part is not known is final.
 * @returns the part as stored; the checkpoint does not know it yet.
 * @throws FolioLostError when the service does not know the folio or the part; UntrustedError `SERVICE_MIXED`.
 */
export function fetchPart(
  run: Pick<RunContext, 'id' | 'api' | 'files' | 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'attempts' | 'recordMixed'>;
  },
  chunk: ChunkRow,
  part: PartReference,
  until?: AbortSignal,
): Promise<StoredPart> {
  const { fileStatus, part: number } = part;
  return run.api.download(
    requestFor(chunk, part),
    async (content, { rehearsal }) => {
      await checkSameService(run.checkpoint, run.id, chunk, rehearsal);
      const counted = countRecords(content);
      const written = await run.files.writePart(chunk.number, part, counted.content);
      return { fileStatus, part: number, ...written, records: counted.count() };
    },
    run.signal,
    until,
  );
}

/**
 * The request for a part. Its size is limited to twice the uploaded bytes plus 4 KiB of answer for each record, and to
 * the largest part that can be read as a table.
 */
export function requestFor(chunk: ChunkRow, { fileStatus, part }: PartReference): DownloadRequest {
  const maxBytes = Math.min(2 * chunk.bytes + 4096 * chunk.records + 1024 * 1024, MAX_PART_BYTES);
  return { folio: chunk.folio!, fileStatus, part, maxBytes };
}

/**
 * Checks rule "Balance" (docs/architecture.md#balance) for one chunk: the number of records sent, the counts of the
 * service and the records in the parts agree.
 * @throws MismatchError `CHUNK_UNBALANCED`.
 */
export function checkBalance(chunk: ChunkRow, counts: FolioCounts, parts: readonly StoredPart[]): void {
  const held = { successful: 0, failed: 0 };
  for (const { fileStatus, records } of parts) {
    held[fileStatus === 'FAILED' ? 'failed' : 'successful'] += records;
  }
  const sum = counts.successful + counts.failed;
  if (sum === chunk.records && held.successful === counts.successful && held.failed === counts.failed) {
    return;
  }
  throw new MismatchError(
    'CHUNK_UNBALANCED',
    `chunk ${chunk.number} (folio ${chunk.folio}): ${chunk.records} records were sent, the service counts ` +
      `${counts.successful} successful and ${counts.failed} failed, its parts hold ${held.successful} and ${held.failed}`,
    {
      hint: 'nothing is published; ask the service provider about this folio, then run the same command again',
      facts: { chunk: chunk.number, folio: chunk.folio },
    },
  );
}
