/** Gives up a chunk whose folio the service has forgotten (law 9): its records have no answer from it, the run goes on. */
import type { FolioReport } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { type FolioLostError, TroubleError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import type { PartReference } from '../../types.js';

export type GiveUpNeeds = Pick<RunContext, 'id' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'recordUnprocessed' | 'recordUnmerged'>;
};

/**
 * Its parts that are stored stay so: a later run asks for the folio again.
 * @returns the chunk, `unprocessed`.
 */
export async function giveUpLost(
  run: GiveUpNeeds,
  chunk: ChunkRow,
  error: FolioLostError,
): Promise<ChunkRow> {
  const { number, folio, records, round, mergedEnd, firstRecord } = chunk;
  // What is sent in a round has failed before.
  const what = round === 0 ? 'become UNPROCESSED' : 'stay FAILED';
  run.logger.error(
    { chunk: number, folio, code: error.code },
    `chunk ${number}: ${error.message}; its ${records} records ${what}`,
  );
  if (mergedEnd !== null) await run.checkpoint.recordUnmerged(run.id, firstRecord);
  return run.checkpoint.recordUnprocessed(run.id, number, 'FOLIO_LOST');
}

// A folio that the service did not know when it was asked for once: whoever waits decides whether it is lost.

/** The chunk stays as it is; what kept it from being had is remembered. */
export function leaveForLater(
  run: Pick<RunContext, 'id' | 'setbacks'>,
  { number, folio }: ChunkRow,
  cause: FolioLostError,
): undefined {
  run.setbacks.first ??= new TroubleError('FOLIO_NOT_FOUND', `chunk ${number}: ${cause.message}`, {
    hint: 'foliopipe collect, which waits, asks until poll.lostAfter has passed and decides whether it is lost',
    facts: { run: run.id, chunk: number, folio },
    cause,
  });
  return undefined;
}

// When a folio is complete and which parts to fetch of it (DESIGN, section 5): pure decisions.

/**
 * Complete means FINISHED, with both counts, and successful parts listed that cover the successful records.
 * Where the ranges cannot be read, one listed part is enough: what it holds is counted after the download.
 */
export function isComplete(report: FolioReport): boolean {
  if (report.status !== 'FINISHED' || report.counts === null) return false;
  const { successful } = report.counts;
  if (successful === 0) return true;
  if (report.successfulParts.length === 0) return false;
  return report.listedRecords === null || report.listedRecords >= successful;
}

/** The parts of a complete folio; the failed one only where records failed. */
export function listParts(report: FolioReport): PartReference[] {
  const { successful, failed } = report.counts!;
  const parts: PartReference[] =
    successful === 0 ? [] : report.successfulParts.map((part) => ({ fileStatus: 'SUCCESSFUL', part }));
  return failed === 0 ? parts : [...parts, { fileStatus: 'FAILED', part: report.failedPart }];
}
