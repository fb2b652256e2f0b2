/** Fetches one part of a folio to the disk, beside what is stored of it with another content. */
import type { DownloadRequest } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { countRecords } from '../../csv/kernel/count-records.js';
import { MismatchError } from '../../errors.js';
import { MAX_PART_BYTES } from '../../results/part-table.js';
import type { RunContext } from '../../run-context.js';
import type { FolioCounts, PartReference, StoredPart } from '../../types.js';
import { checkSameService } from '../submit/check-replies.js';

export type FetchPartNeeds = Pick<RunContext, 'id' | 'api' | 'files' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'attempts' | 'recordMixed'>;
};

/**
 * @param until once aborted, a single answer that folio or part is not known decides.
 * @returns what the file holds; the checkpoint does not know of it yet.
 * @throws FolioLostError when the service does not know the folio or the part; UntrustedError `SERVICE_MIXED`.
 */
export function fetchPart(
  run: FetchPartNeeds,
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

/** No honest part is larger: what we sent and 4 KiB of answer for each record. What is read as a table is less. */
export function requestFor(chunk: ChunkRow, { fileStatus, part }: PartReference): DownloadRequest {
  const maxBytes = Math.min(2 * chunk.bytes + 4096 * chunk.records + 1024 * 1024, MAX_PART_BYTES);
  return { folio: chunk.folio!, fileStatus, part, maxBytes };
}

// Law 1 for one chunk: what we sent, what the service counts and what the parts hold are the same numbers.

/** @throws MismatchError `CHUNK_UNBALANCED`. */
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
