/**
 * Decides about ambiguous chunks, which the service may have accepted: each is sent again or given up. This is done when
 * everything else is sent, or earlier if only ambiguous chunks hold permits that can become free.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import type { AmbiguousUploadError } from '../../errors.js';
import { adoptHint, ambiguousFile } from '../../report/adoptable.js';
import type { AddItems } from '../../streams/map-concurrent.js';
import { permitName } from '../../streams/permits.js';
import { stopForEarlierRedirect, stopForUnreadable } from './stop-uploads.js';
import type { Submission, SubmitChunksNeeds } from './submission.js';
import { hasUnreadableReply } from './unreadable-replies.js';

/** When everything else is sent: decides about a chunk that is ambiguous, or submits one that was. */
export async function submitUndecided(
  submission: Submission,
  found: ChunkRow,
  add: AddItems<ChunkRow>,
): Promise<ChunkRow | undefined> {
  const { run } = submission;
  if (run.uploads.stopped) return undefined;
  // Another process may have sent the chunk, lost its lease, and recorded the outcome only after that.
  const chunk = (await run.checkpoint.chunk(run.id, found.number)) ?? found;
  return chunk.state === 'ambiguous' ? decide(submission, chunk, add) : submission.submit(chunk, add);
}

/** Decides about the next ambiguous chunk. If this process has decided about all, stops the uploads. */
export async function decideNext(
  submission: Submission,
  add: AddItems<ChunkRow>,
): Promise<ChunkRow | undefined> {
  const { run, decided } = submission;
  for await (const doubtful of eachChunk(run.checkpoint, run.id, ['ambiguous'])) {
    if (!decided.has(doubtful.number)) return decide(submission, doubtful, add);
  }
  // This process has decided about each of them, and they are ambiguous again: a later run decides, and sends the rest.
  run.uploads.stopped = true;
  return undefined;
}

/** Sends an ambiguous chunk again or gives it up. Does nothing the second time. */
async function decide(
  submission: Submission,
  chunk: ChunkRow,
  add: AddItems<ChunkRow>,
): Promise<ChunkRow | undefined> {
  const { run, decided } = submission;
  if (decided.has(chunk.number)) return undefined;
  decided.add(chunk.number);
  const decision = await resolveAmbiguous(submission, chunk);
  if (decision === 'again') return submission.submit(chunk, add);
  if (decision !== undefined) await run.folioPermits.release(permitName(run.id, chunk.number));
  return decision;
}

/**
 * A chunk whose reply could not be read is not sent again: the service has answered, so it probably has the chunk.
 * @returns the chunk, given up; or `again` if it may be sent again (at most `ambiguous.maxRecords` records a run); or
 *   undefined, with the uploads stopped, if no reply of the run could be read so far: a person must look first. With
 *   `ambiguous.policy: hold` a person has looked already, so the chunk is given up.
 * @throws AmbiguousUploadError if the upload was redirected and would probably be redirected again.
 */
async function resolveAmbiguous(
  submission: Submission,
  chunk: ChunkRow,
): Promise<ChunkRow | 'again' | undefined> {
  const { run, breaker } = submission;
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
    `chunk ${chunk.number} may have been accepted and is not sent again: ${why}${await howToAdopt(submission, chunk)}`,
  );
  return givenUp;
}

/** Warns that an upload has become ambiguous, and says how its folio can be adopted. */
export async function warnAmbiguous(
  submission: Submission,
  chunk: ChunkRow,
  error: AmbiguousUploadError,
): Promise<void> {
  submission.run.logger.warn(
    { chunk: chunk.number, code: error.code },
    `chunk ${chunk.number}: ${error.message}; it may have been accepted, so it is decided on when everything else is sent${await howToAdopt(submission, chunk)}`,
  );
}

/** Whether the newest attempt was redirected, and no upload of the run was accepted after the last redirect. */
async function wasRedirected({ id, checkpoint }: SubmitChunksNeeds, chunk: number): Promise<boolean> {
  const newest = (await checkpoint.attempts(id, chunk)).at(-1);
  return newest?.doubt === 'redirected' && (await checkpoint.doubtsInRow(id, 'redirected')) > 0;
}

/** The end of a warning about an ambiguous chunk; empty the second time. */
async function howToAdopt({ run, warned }: Submission, { number: chunk }: ChunkRow): Promise<string> {
  if (warned.has(chunk)) return '';
  warned.add(chunk);
  const fileName = await ambiguousFile(run.checkpoint, run.id, chunk);
  return fileName === undefined ? '' : `; ${adoptHint(run.id, { chunk, fileName })}`;
}
