/** Law 1 for one chunk: what we sent, what the service counts and what the parts hold are the same numbers. */
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import { MismatchError } from '../errors/index.js';
import type { FolioCounts, StoredPart } from '../types.js';

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
