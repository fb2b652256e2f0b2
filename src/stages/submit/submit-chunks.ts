/**
 * Second stage: uploads chunks, with a limit on the uploads in flight and on the open folios. This file is the way of a
 * chunk that the service accepts. What becomes of any other chunk is in `after-failure.ts`, and the decisions about
 * ambiguous chunks are in `resolve-ambiguous.ts`.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { abortOnEarlyReturn } from '../../streams/abortable.js';
import { type AddItems, mapGrowing } from '../../streams/map-concurrent.js';
import { permitName } from '../../streams/permits.js';
import { judgeFirstChunks } from '../merge/judge-first-chunks.js';
import { afterFailure, anyUploadEnds } from './after-failure.js';
import { checkNotMisread, checkOneService, createReplyBreaker } from './check-replies.js';
import { findEarlyFailures } from './find-early-failures.js';
import { decideNext, submitUndecided } from './resolve-ambiguous.js';
import type { Submission, SubmitChunksNeeds } from './submission.js';
import { NotAdmitted, uploadChunk, type Waiting } from './upload-chunk.js';

/**
 * Passes on chunks whose folio is known, and chunks that are given up or refused. Does not pass on a chunk that stays
 * ambiguous, or that is not sent because of an outage, a guard or too many unreadable replies.
 * @throws RefusedError, TroubleError from the upload; AmbiguousUploadError when it is redirected; UntrustedError when
 *   the service counts a different number of records, or more than one service answers.
 */
export function submitChunks(
  run: SubmitChunksNeeds,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const submitAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    await checkNotMisread(run.checkpoint, run.id);
    await checkOneService(run.checkpoint, run.id);
    const submission: Submission = {
      run,
      breaker: createReplyBreaker(await run.checkpoint.doubtsInRow(run.id, 'unreadable')),
      decided: new Set(),
      warned: new Set(),
      early: undefined,
      lastRefusal: Promise.resolve(),
      submit: (chunk, add) => submit(submission, chunk, add),
    };
    const left = await ambiguousChunks(run);
    const submitNext = async (chunk: ChunkRow, add: AddItems<ChunkRow>) => {
      left.delete(chunk.number);
      return submit(submission, chunk, add);
    };
    yield* mapGrowing(chunks, run.config.concurrency.uploads, submitNext, run.controller);
    if (run.uploads.stopped) return;
    // One at a time: the records that were sent again before decide whether the next chunk may be sent again.
    const submitLast = async (chunk: ChunkRow, add: AddItems<ChunkRow>) =>
      submitUndecided(submission, chunk, add);
    yield* mapGrowing(undecidedChunks(submission, left), 1, submitLast, run.controller);
  };
  return (chunks) => abortOnEarlyReturn(submitAll(chunks), run.controller);
}

/** Submits a chunk as soon as it has a permit. If the chunk is refused, adds the chunks that replace it. */
async function submit(
  submission: Submission,
  chunk: ChunkRow,
  add: AddItems<ChunkRow>,
): Promise<ChunkRow | undefined> {
  const { run } = submission;
  if (chunk.state === 'finished' || chunk.state === 'refused') return chunk;
  if (run.uploads.stopped && chunk.state !== 'submitted') return undefined;
  const permit = permitName(run.id, chunk.number);
  const waiting: Waiting = { since: undefined };
  for (;;) {
    const acquired = await run.folioPermits.acquire(permit, run.signal);
    if (acquired === false) break;
    if (acquired === true) {
      const end = await submitWithPermit(submission, chunk, { permit, waiting }, add);
      if (end !== 'not-admitted') return end;
    } else if (submission.early === undefined) {
      // This chunk is next when the other one is decided.
      add(chunk);
      submission.early = decideNext(submission, add).finally(() => {
        submission.early = undefined;
      });
      return submission.early;
    } else await submission.early;
    if (run.uploads.stopped) return undefined;
  }
  // Folios that timed out or could not be polled keep all permits: a later run sends the rest.
  run.uploads.stopped = true;
  return undefined;
}

/**
 * Uploads a chunk unless its folio is known. Keeps the permit while the folio is open, and otherwise releases it.
 * @returns `not-admitted` if the service admits no more folios now: the caller waits for another permit.
 */
async function submitWithPermit(
  submission: Submission,
  chunk: ChunkRow,
  { permit, waiting }: { readonly permit: string; readonly waiting: Waiting },
  add: AddItems<ChunkRow>,
): Promise<ChunkRow | undefined | 'not-admitted'> {
  const { folioPermits } = submission.run;
  for (;;) {
    try {
      const submitted =
        chunk.state === 'submitted' ? chunk : await uploadIfAllowed(submission, chunk, waiting);
      if (submitted === undefined) break;
      await folioPermits.opened?.(permit);
      return submitted;
    } catch (error) {
      if (error instanceof NotAdmitted && error.asksAgain) continue;
      await folioPermits.release(permit);
      return afterFailure(submission, chunk, error, add);
    }
  }
  await folioPermits.release(permit);
  return undefined;
}

/**
 * @returns undefined if nothing may be uploaded any more.
 * @throws GuardError when too many records of the first chunks have failed; the errors of `uploadChunk`.
 */
async function uploadIfAllowed(
  { run, breaker }: Submission,
  chunk: ChunkRow,
  waiting: Waiting,
): Promise<ChunkRow | undefined> {
  // A pause may last for hours, and what is known after it decides.
  await run.api.ready?.(run.signal);
  if (run.uploads.stopped) return undefined;
  if ((await judgeFirstChunks(run)) !== undefined) return undefined;
  // A round sends failed records on purpose, so the failure rate does not apply.
  const failures = chunk.round === 0 ? await findEarlyFailures(run) : undefined;
  if (failures !== undefined) throw failures;
  const { inFlight } = run.uploads;
  // After an unreadable reply uploads run one at a time, so that few chunks are at risk. Several may have waited for the
  // same upload: the first of them begins the next one before the others look.
  while (breaker.unreadable > 0 && inFlight.size > 0) await anyUploadEnds(inFlight);
  if (run.uploads.stopped || !breaker.allowsRequest) return undefined;
  const uploading = breaker.watch(uploadChunk(run, chunk, waiting));
  inFlight.add(uploading);
  try {
    return await uploading;
  } finally {
    inFlight.delete(uploading);
  }
}

/** The numbers of the chunks that are ambiguous. */
async function ambiguousChunks(run: SubmitChunksNeeds): Promise<Set<number>> {
  const found = new Set<number>();
  for await (const { number } of eachChunk(run.checkpoint, run.id, ['ambiguous'])) found.add(number);
  return found;
}

/**
 * The chunks that are ambiguous now, then those that were ambiguous at the start and no longer are, unless this process
 * has decided about them already.
 * @param left the numbers of chunks that were ambiguous before and have not been passed on.
 */
async function* undecidedChunks({ run, decided }: Submission, left: Set<number>): AsyncGenerator<ChunkRow> {
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['ambiguous'])) {
    left.delete(chunk.number);
    yield chunk;
  }
  for (const number of left) {
    if (decided.has(number)) continue;
    const chunk = await run.checkpoint.chunk(run.id, number);
    if (chunk?.state === 'submitted' || chunk?.state === 'cut') yield chunk;
  }
}
