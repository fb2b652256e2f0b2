/** What becomes of an upload of which nobody knows whether it was accepted: told, then sent again or given up. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { attemptsOf } from '../../checkpoint/walk-run.js';
import type { AmbiguousUploadError } from '../../errors.js';
import { adoptHint, ambiguousFile } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';
import { type StopUploadsNeeds, stillRedirected, stopUnreadable } from './stop-uploads.js';
import { type ReceiptRow, wasUnreadable } from './unreadable-replies.js';

export type SettleAmbiguousNeeds = StopUploadsNeeds &
  Pick<RunContext, 'config' | 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordUnprocessed' | 'tally' | 'doubtsInRow'>;
  };

/** Tells of one that has just become so, and how its folio is bound. */
export async function tellAmbiguous(
  run: SettleAmbiguousNeeds,
  chunk: ChunkRow,
  error: AmbiguousUploadError,
): Promise<void> {
  run.logger.warn(
    { chunk: chunk.number, code: error.code },
    `chunk ${chunk.number}: ${error.message}; it may have been accepted, so it is decided on when everything else is sent${await howToAdopt(run, chunk)}`,
  );
}

/**
 * Decides on an ambiguous chunk, once in a process. One whose reply came and could not be read is not sent again:
 * the service has answered, so it is likely to have it.
 * @returns it, given up; `again` where it is sent again within the run's allowance; undefined where a person must
 *   look first, for no reply of the run could ever be read; `ambiguous.policy: hold` says that somebody has.
 * @throws AmbiguousUploadError where it was redirected, and would be again.
 */
export async function settleAmbiguous(
  run: SettleAmbiguousNeeds,
  chunk: ChunkRow,
  receipts: ReceiptRow,
): Promise<ChunkRow | 'again' | undefined> {
  // An interrupted run decides nothing: until the next one there is time to adopt.
  run.signal.throwIfAborted();
  const { policy, maxRecords } = run.config.ambiguous;
  const { ambiguousRecords, uploads } = await run.checkpoint.tally(run.id);
  if (await wasRedirected(run, chunk.number)) {
    // Nothing was accepted since: it would be redirected once more, and paid for twice.
    if (policy === 'resubmit' || uploads.accepted === 0) throw await stillRedirected(run, chunk);
  }
  const isUnreadable = await wasUnreadable(run, chunk.number);
  if (policy === 'resubmit' && isUnreadable && receipts.isFull && uploads.accepted === 0) {
    await stopUnreadable(run, receipts);
    return undefined;
  }
  if (policy === 'resubmit' && !isUnreadable && ambiguousRecords <= maxRecords) {
    run.logger.warn(
      { chunk: chunk.number, records: chunk.records },
      `chunk ${chunk.number} is sent again: its ${chunk.records} records may be paid for twice`,
    );
    return 'again';
  }
  const givenUp = await run.checkpoint.recordUnprocessed(run.id, chunk.number, 'AMBIGUOUS_HELD');
  const allowance = policy === 'hold' ? 'ambiguous.policy is hold' : `ambiguous.maxRecords is ${maxRecords}`;
  const why = isUnreadable ? 'its reply came and could not be read' : allowance;
  run.logger.warn(
    { chunk: chunk.number, records: chunk.records },
    `chunk ${chunk.number} may have been accepted and is not sent again: ${why}${await howToAdopt(run, chunk)}`,
  );
  return givenUp;
}

/** Whether the newest attempt was redirected, and no upload of the run was accepted by what answers there now. */
async function wasRedirected({ id, checkpoint }: SettleAmbiguousNeeds, chunk: number): Promise<boolean> {
  const newest = (await attemptsOf(checkpoint, id, chunk)).at(-1);
  return newest?.doubt === 'redirected' && (await checkpoint.doubtsInRow(id, 'redirected')) > 0;
}

/** The end of a warning about an ambiguous chunk. */
async function howToAdopt(run: SettleAmbiguousNeeds, { number: chunk }: ChunkRow): Promise<string> {
  const fileName = await ambiguousFile(run.checkpoint, run.id, chunk);
  return fileName === undefined ? '' : `; ${adoptHint(run.id, { chunk, fileName })}`;
}
