/**
 * What becomes of a chunk whose upload has failed: it is replaced by other chunks, waits for another permit, is decided
 * on when everything else is sent, or is left to a later run. Some failures end the run.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { AmbiguousUploadError, GuardError, OutageError, RefusedError } from '../../errors.js';
import type { AddItems } from '../../streams/map-concurrent.js';
import { warnAmbiguous } from './resolve-ambiguous.js';
import { resolveRefused } from './resolve-refused.js';
import { stopForRedirect, stopForUnreadable, stopUploads } from './stop-uploads.js';
import type { Submission, SubmitChunksNeeds } from './submission.js';
import { hasUnsentChunks } from './unreadable-replies.js';
import { isStopOf, NotAdmitted } from './upload-chunk.js';

/**
 * Adds the chunks that replace a refused one. Stops the uploads of this process if the next ones would fail too.
 * @returns `not-admitted` if the chunk must wait for another permit.
 * @throws the error if it ends the run.
 */
export async function afterFailure(
  submission: Submission,
  chunk: ChunkRow,
  error: unknown,
  add: AddItems<ChunkRow>,
): Promise<'not-admitted' | undefined> {
  const { run } = submission;
  if (isStopOf(error, run.signal)) throw error;
  if (error instanceof NotAdmitted) return 'not-admitted';
  if (error instanceof RefusedError) add(...(await resolveInTurn(submission, chunk, error)));
  else if (error instanceof OutageError || error instanceof GuardError) stopUploads(run, error);
  else if (error instanceof AmbiguousUploadError) await afterDoubt(submission, chunk, error);
  else throw error;
  return undefined;
}

/** Waits until one of the uploads in flight has ended. @returns false if none is in flight. */
export async function anyUploadEnds(inFlight: ReadonlySet<Promise<unknown>>): Promise<boolean> {
  if (inFlight.size === 0) return false;
  await Promise.race([...inFlight].map((upload) => upload.catch(() => undefined)));
  return true;
}

/** Handles one refusal at a time, so that the splits of a run are counted correctly. */
function resolveInTurn(submission: Submission, chunk: ChunkRow, error: RefusedError) {
  const { run, lastRefusal } = submission;
  const anyEnds = () => anyUploadEnds(run.uploads.inFlight);
  const replacements = lastRefusal.then(() => resolveRefused(run, chunk, error, anyEnds));
  submission.lastRefusal = replacements.catch(() => undefined);
  return replacements;
}

/** @throws AmbiguousUploadError after a redirect. */
async function afterDoubt(
  submission: Submission,
  chunk: ChunkRow,
  error: AmbiguousUploadError,
): Promise<void> {
  const { run, breaker } = submission;
  if (error.doubt === 'redirected') throw await stopForRedirect(run, chunk, error);
  await warnAmbiguous(submission, chunk, error);
  if (breaker.allowsRequest || (await isOnlyToGiveUp(run))) return;
  await stopForUnreadable(run, breaker, error.message);
}

/** With `hold`, once all chunks are sent, there are no uploads to stop: the ambiguous chunks are given up next. */
async function isOnlyToGiveUp({ id, config, checkpoint }: SubmitChunksNeeds): Promise<boolean> {
  return config.ambiguous.policy === 'hold' && !(await hasUnsentChunks(checkpoint, id));
}
