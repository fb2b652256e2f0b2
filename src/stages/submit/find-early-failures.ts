/** The guard that stops the uploads where too many records of the first chunks failed, before more is paid for. */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { GuardError } from '../../errors.js';
import { failureText, isTolerated, raiseHint } from '../../report/exit-code.js';
import type { SubmitChunksNeeds } from './submit-needs.js';

/**
 * Looks at the chunks with the lowest numbers that the service has counted, until they are worth three full chunks. The
 * half of a refused chunk is worth its share, and less than one full chunk decides nothing. Refused records cost nothing
 * and do not count. Chunks of rounds do not count, and chunks without counts are not read.
 * @returns the error that the run ends with, where more must not be paid for.
 */
export async function findEarlyFailures(run: SubmitChunksNeeds): Promise<GuardError | undefined> {
  const { failures, chunks } = run.config;
  let worth = 0;
  let records = 0;
  let failed = 0;
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['finished', 'downloaded'], maxChunks)) {
    if (chunk.round > 0) continue;
    worth += worthOf(chunk, chunks);
    records += chunk.records;
    failed += chunk.counts!.failed;
    if (worth >= maxChunks) break;
  }
  if (worth < 1 || isTolerated(failed, records, failures.tolerate)) return undefined;
  return new GuardError(
    'FAILURE_RATE',
    `run ${run.id}: of the first chunks, ${failureText(failed, records, failures.tolerate)}: nothing more is uploaded`,
    {
      hint: raiseHint(run.id, failed, records),
      facts: { run: run.id, failed, records, tolerate: failures.tolerate },
    },
  );
}

const maxChunks = 3;

/** The share of a full chunk; 1 for a chunk that was cut because it was full, by records or by bytes. */
function worthOf(
  { records, bytes }: ChunkRow,
  limits: { readonly maxRecords: number; readonly maxBytes: number },
): number {
  const share = Math.max(records / limits.maxRecords, bytes / limits.maxBytes);
  // A chunk that was cut by its bytes is not quite full, and a half of it has about half of the bytes.
  return share > 0.5 ? 1 : share;
}
