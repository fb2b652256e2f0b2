/**
 * Uploads a chunk once: commits the intent before the POST, and the folio as soon as the reply is read (rule "Intent
 * first", docs/architecture.md#intent-first). If it is unknown whether the service accepted the chunk, it is ambiguous.
 */
import type { UploadReceipt } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow, Upload } from '../../checkpoint/checkpoint.js';
import { budgetAt } from '../../config/sections/calendar.js';
import { AmbiguousUploadError, FoliopipeError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { permitName } from '../../streams/permits.js';
import type { Doubt, Milliseconds, UploadContent } from '../../types.js';
import { restoreChunk } from '../chunk/chunk-content.js';
import { checkNotMisread, checkOneService, noteService } from './check-replies.js';
import type { SubmitChunksNeeds } from './submission.js';
import { afterUnrecorded } from './unrecorded-folios.js';
import { uploadNames } from './upload-names.js';

/** How long a chunk waits that the service has certainly not accepted, over all attempts of this process. */
export interface Waiting {
  /** When the first wait began; undefined before that. */
  since: number | undefined;
}

/**
 * @param waiting kept by the caller for the next attempt.
 * @returns the chunk, `submitted`.
 * @throws AmbiguousUploadError, RefusedError, OutageError from the upload; NotAdmitted; GuardError when the budget is
 *   used up; UntrustedError when the service counts a different number of records, or when more than one service answers.
 */
export async function uploadChunk(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  waiting: Waiting,
): Promise<ChunkRow> {
  await restoreChunk(run, chunk);
  // Read before the intent is committed, so that a file that cannot be read leaves no ambiguous upload.
  const content = await run.files.chunkContent(chunk.number);
  run.signal.throwIfAborted();
  await run.lock.expectHeld?.();
  const names = uploadNames(run, chunk);
  const now = run.clock.now();
  const budget = budgetAt(run.config.budget, now);
  let intent: Upload;
  try {
    intent = await run.checkpoint.recordIntent(run.id, chunk.number, names.fileName, now, budget);
  } catch (error) {
    return await acceptedMeanwhile(run, chunk, error);
  }
  // Logged only now: before the intent was recorded, a guard or the budget could have stopped the upload.
  if (chunk.state === 'ambiguous' && waiting.since === undefined) {
    run.logger.warn(
      { chunk: chunk.number, records: chunk.records },
      `chunk ${chunk.number} is sent again: its ${countOf(chunk.records, 'record')} may be paid for twice`,
    );
  }
  run.at('after-intent-before-post');
  let receipt: UploadReceipt;
  try {
    receipt = await post(run, { intent, content, description: names.description }, waiting);
  } catch (error) {
    return await acceptedMeanwhile(run, chunk, error);
  }
  run.at('after-post-before-commit');
  const reply = { folio: receipt.folio, serviceRecords: receipt.totalRecords, rehearsal: receipt.rehearsal };
  const accepted = await recordAccepted(run, chunk, reply);
  run.at('after-accepted-before-poll');
  run.logger.debug(
    { chunk: chunk.number, folio: receipt.folio, records: chunk.records },
    `chunk ${chunk.number} submitted as folio ${receipt.folio}`,
  );
  if (receipt.totalRecords !== null && receipt.totalRecords !== chunk.records) {
    await checkNotMisread(run.checkpoint, run.id);
  }
  await checkOneService(run.checkpoint, run.id, receipt.rehearsal);
  if (accepted.folio === receipt.folio) noteService(accepted, receipt.rehearsal);
  return accepted;
}

/**
 * Another process may have sent the chunk, lost its lease, and recorded the folio just now. Then this process goes on
 * with that folio.
 * @throws `error` if no folio was recorded.
 */
async function acceptedMeanwhile(
  run: SubmitChunksNeeds,
  { number, state }: ChunkRow,
  error: unknown,
): Promise<ChunkRow> {
  if (state !== 'ambiguous') throw error;
  const now = await run.checkpoint.chunk(run.id, number);
  if (now?.state !== 'submitted') throw error;
  return now;
}

interface Sending {
  readonly intent: Upload;
  readonly content: UploadContent;
  readonly description: string;
}

async function post(run: SubmitChunksNeeds, { intent, content, description }: Sending, waiting: Waiting) {
  const file = { ...content, name: intent.fileName };
  const { max, giveUpAfter } = run.config.retry;
  let asksAgain = false;
  const refused = async () => {
    asksAgain = (await run.folioPermits.refused?.(permitName(run.id, intent.chunk))) ?? true;
    if (!asksAgain) throw new NotAdmitted();
  };
  const paused = (time: Milliseconds) => {
    const now = run.clock.now();
    waiting.since ??= now;
    const waited = now - waiting.since;
    if (time > LATE_MS) throw new NotAdmitted({ asksAgain });
    // Waits as long again, as a back-off, but not so long that the outage counts as over.
    if (waited > LATE_MS) throw new NotAdmitted({ asksAgain, wait: Math.min(waited, max, giveUpAfter / 2) });
  };
  const since = run.clock.now();
  const begins = () => {
    run.at('after-slot-before-post');
    // An upload that did not wait was allowed before uploads were stopped.
    if (run.uploads.stopped && run.clock.now() - since > LATE_MS) throw new NotAdmitted();
    expectStillHeld(run);
  };
  try {
    return await run.api.upload({ file, description, refused, paused, begins }, run.signal);
  } catch (error) {
    const now = run.clock.now();
    const doubt = whyAmbiguous(error, run.signal);
    if (doubt === undefined) await run.checkpoint.recordDropped(run.id, intent.chunk, now);
    else await run.checkpoint.recordAmbiguous(run.id, intent.chunk, now, doubt);
    if (error instanceof NotAdmitted && error.wait > 0) await run.clock.sleep(error.wait, run.signal);
    throw error;
  }
}

/**
 * The service admits no more folios now, asks to wait or does not answer, uploads were stopped meanwhile, or the lock may
 * have passed to another process. The upload ends without being sent, so that no kill makes it ambiguous while it waits.
 */
export class NotAdmitted extends Error {
  /** Whether the upload keeps its permit and asks once more, alone (`Permits.refused`). */
  readonly asksAgain: boolean;
  /** How long to wait before the next attempt. A pause of the service is waited for anyway. */
  readonly wait: Milliseconds;

  constructor({ asksAgain = false, wait = 0 }: { asksAgain?: boolean; wait?: Milliseconds } = {}) {
    super();
    this.asksAgain = asksAgain;
    this.wait = wait;
  }
}

/** If this process was paused, another one may have the lock now and send the same request. @throws NotAdmitted. */
export function expectStillHeld({ lock }: Pick<SubmitChunksNeeds, 'lock'>): void {
  if (lock.isHeld?.() === false) throw new NotAdmitted();
}

/** Takes back a paid request that would wait for long before it is sent. @throws NotAdmitted. */
export function takeBackIfLong(time: Milliseconds): void {
  if (time > LATE_MS) throw new NotAdmitted();
}

/** A paid request that waits longer than this is taken back. A folio that cannot be recorded for this long is logged. */
const LATE_MS = 5_000;

/** @throws the error of `afterUnrecorded` if the checkpoint cannot record the folio. */
async function recordAccepted(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  reply: Parameters<Checkpoint['recordAccepted']>[2],
): Promise<ChunkRow> {
  const { folio } = reply;
  // The process may be killed while it waits.
  const lateWarning = setTimeout(
    () =>
      run.logger.warn(
        { chunk: chunk.number, folio },
        `chunk ${chunk.number} was accepted as folio ${folio}, which could not be recorded yet; recording is still being tried`,
      ),
    LATE_MS,
  );
  try {
    return await run.checkpoint.recordAccepted(run.id, chunk.number, reply, run.clock.now());
  } catch (error) {
    throw afterUnrecorded(run, chunk.number, folio, error);
  } finally {
    clearTimeout(lateWarning);
  }
}

/**
 * Says why a paid request that ended with an error is ambiguous. The API port guarantees that the request was not
 * accepted if it throws the reason of the signal, a FoliopipeError other than AmbiguousUploadError, or what `refused`,
 * `paused` or `begins` has thrown. Any other error proves nothing, so the request counts as ambiguous.
 * @returns undefined if the request was certainly not accepted.
 */
export function whyAmbiguous(error: unknown, signal: AbortSignal): Doubt | undefined {
  if (isStopOf(error, signal)) return undefined;
  if (error instanceof AmbiguousUploadError) return error.doubt;
  return error instanceof FoliopipeError || error instanceof NotAdmitted ? undefined : 'no-reply';
}

/** Whether the error is what stopped the run, such as the redirect of another upload, and not this request's outcome. */
export function isStopOf(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error === signal.reason;
}
