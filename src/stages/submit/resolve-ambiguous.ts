/** Decides about an ambiguous chunk, which the service may have accepted: it is sent again or given up. */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import type { AmbiguousUploadError } from '../../errors.js';
import { adoptHint, ambiguousFile } from '../../report/adoptable.js';
import type { ReplyBreaker } from './check-replies.js';
import { stopForEarlierRedirect, stopForUnreadable } from './stop-uploads.js';
import type { SubmitChunksNeeds } from './submission.js';
import { hasUnreadableReply } from './unreadable-replies.js';

/**
 * Called once per chunk in a process. A chunk whose reply could not be read is not sent again: the service has
 * answered, so it probably has the chunk.
 * @returns the chunk, given up; or `again` if it may be sent again (at most `ambiguous.maxRecords` records a run); or
 *   undefined, with the uploads stopped, if no reply of the run could be read so far: a person must look first. With
 *   `ambiguous.policy: hold` a person has looked already, so the chunk is given up.
 * @throws AmbiguousUploadError if the upload was redirected and would probably be redirected again.
 */
export async function resolveAmbiguous(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  breaker: ReplyBreaker,
): Promise<ChunkRow | 'again' | undefined> {
  // An interrupted run decides nothing: a person can adopt the folio before the next run.
  run.signal.throwIfAborted();
  const { policy, maxRecords } = run.config.ambiguous;
  const { ambiguousRecords, uploads } = await run.checkpoint.tally(run.id);
  if (await wasRedirected(run, chunk.number)) {
    // No upload was accepted since then: this one would be redirected again, and might be paid for twice.
    if (policy === 'resubmit' || uploads.accepted === 0) throw await stopForEarlierRedirect(run, chunk);
  }
  const isUnreadable = await hasUnreadableReply(run.checkpoint, run.id, chunk.number);
  if (policy === 'resubmit' && isUnreadable && breaker.isOpen && uploads.accepted === 0) {
    await stopForUnreadable(run, breaker);
    return undefined;
  }
  if (policy === 'resubmit' && !isUnreadable && ambiguousRecords <= maxRecords) return 'again';
  const givenUp = await run.checkpoint.recordUnprocessed(run.id, chunk.number, 'AMBIGUOUS_HELD');
  const allowance = policy === 'hold' ? 'ambiguous.policy is hold' : `ambiguous.maxRecords is ${maxRecords}`;
  const why = isUnreadable ? 'its reply came and could not be read' : allowance;
  run.logger.warn(
    { chunk: chunk.number, records: chunk.records },
    `chunk ${chunk.number} may have been accepted and is not sent again: ${why}${await howToAdopt(run, chunk)}`,
  );
  return givenUp;
}

/** Warns that an upload has become ambiguous, and says how its folio can be adopted. */
export async function warnAmbiguous(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  error: AmbiguousUploadError,
): Promise<void> {
  run.logger.warn(
    { chunk: chunk.number, code: error.code },
    `chunk ${chunk.number}: ${error.message}; it may have been accepted, so it is decided on when everything else is sent${await howToAdopt(run, chunk)}`,
  );
}

/** Whether the newest attempt was redirected, and no upload of the run was accepted after the last redirect. */
async function wasRedirected({ id, checkpoint }: SubmitChunksNeeds, chunk: number): Promise<boolean> {
  const newest = (await checkpoint.attempts(id, chunk)).at(-1);
  return newest?.doubt === 'redirected' && (await checkpoint.doubtsInRow(id, 'redirected')) > 0;
}

/** The end of a warning about an ambiguous chunk. */
async function howToAdopt(run: SubmitChunksNeeds, { number: chunk }: ChunkRow): Promise<string> {
  const fileName = await ambiguousFile(run.checkpoint, run.id, chunk);
  return fileName === undefined ? '' : `; ${adoptHint(run.id, { chunk, fileName })}`;
}
