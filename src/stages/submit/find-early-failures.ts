/** The guard that stops the uploads when too many records of the first chunks failed, before more is paid for. */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { GuardError } from '../../errors.js';
import { hasOpenRequests, newRunCommand } from '../../report/adoptable.js';
import { failureText, isTolerated, raiseToleranceHint } from '../../report/exit-code.js';
import type { SubmitChunksNeeds } from './submit-needs.js';

/**
 * Looks at the finished chunks with the lowest numbers, up to the size of three full chunks. The half of a split chunk
 * counts by its size; less than one full chunk decides nothing. Refused records cost nothing and do not count. Chunks
 * of rounds do not count either.
 * @returns the error with which the run must end; undefined if uploads may go on.
 */
export async function findEarlyFailures(run: SubmitChunksNeeds): Promise<GuardError | undefined> {
  const { failures, chunks } = run.config;
  let fullChunks = 0;
  let records = 0;
  let failed = 0;
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['finished', 'downloaded'], maxChunks)) {
    if (chunk.round > 0) continue;
    fullChunks += shareOfFullChunk(chunk, chunks);
    records += chunk.records;
    failed += chunk.counts!.failed;
    if (fullChunks >= maxChunks) break;
  }
  if (fullChunks < 1 || isTolerated(failed, records, failures.tolerate)) return undefined;
  const newRun = newRunCommand(hasOpenRequests((await run.checkpoint.tally(run.id)).chunks));
  return new GuardError(
    'FAILURE_RATE',
    `run ${run.id}: of the first chunks, ${failureText(failed, records, failures.tolerate)}: nothing more is uploaded`,
    {
      hint: raiseToleranceHint(run.id, failed, records, newRun),
      facts: { run: run.id, failed, records, tolerate: failures.tolerate },
    },
  );
}

const maxChunks = 3;

/** The size of a chunk as a share of a full one; 1 if it was cut because it was full, by records or by bytes. */
function shareOfFullChunk(
  { records, bytes }: ChunkRow,
  limits: { readonly maxRecords: number; readonly maxBytes: number },
): number {
  const share = Math.max(records / limits.maxRecords, bytes / limits.maxBytes);
  // A chunk that was cut by bytes is slightly less than full. A half of it has about half of the bytes.
  return share > 0.5 ? 1 : share;
}
