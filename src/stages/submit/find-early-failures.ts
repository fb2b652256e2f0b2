/** The guard against paying for a night of failures (law 9): too many failed among the first chunks. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { GuardError } from '../../errors.js';
import { failureText, isTolerated, raiseHint } from '../../report/exit-code.js';
import type { RunContext } from '../../run-context.js';

export type EarlyFailuresNeeds = Pick<RunContext, 'id' | 'config'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn'>;
};

/**
 * Looks at the first three chunks' worth of the source's records, by number, that the service has counted. The
 * halves of a refused chunk are worth what is in them, and less than one whole chunk says nothing yet; refused
 * records cost nothing and do not count. What is not counted yet is not read, however much it is.
 * @returns the error that the run is to end with, where more is not to be paid for.
 */
export async function findEarlyFailures(run: EarlyFailuresNeeds): Promise<GuardError | undefined> {
  const { failures, chunks } = run.config;
  let worth = 0;
  let records = 0;
  let failed = 0;
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['finished', 'downloaded'], chunksAtMost)) {
    if (chunk.round > 0) continue;
    worth += worthOf(chunk, chunks);
    records += chunk.records;
    failed += chunk.counts!.failed;
    if (worth >= chunksAtMost) break;
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

const chunksAtMost = 3;

/** 1 for a chunk that was cut because it was full, by records or by bytes. */
function worthOf(
  { records, bytes }: ChunkRow,
  limits: { readonly maxRecords: number; readonly maxBytes: number },
): number {
  const share = Math.max(records / limits.maxRecords, bytes / limits.maxBytes);
  // One that was cut by its bytes is not quite full; a half of it has about half of them.
  return share > 0.5 ? 1 : share;
}
