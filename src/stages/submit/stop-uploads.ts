/**
 * Stops the uploads of a process: after an outage, when a limit is reached (the budget, the failure rate of the first
 * chunks), after unreadable replies, or after a redirect. Chunks that are already sent are still collected.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { AmbiguousUploadError, type FoliopipeError, OutageError, UntrustedError } from '../../errors.js';
import { adoptHint, adoptHints, ambiguousFile, newRunCommand } from '../../report/adoptable.js';
import type { ReplyBreaker } from './check-replies.js';
import type { SubmitChunksNeeds } from './submission.js';
import { unreadableHint } from './unreadable-replies.js';

/**
 * After an outage each further upload would also run into it; after a guard no further upload may be paid for.
 * @param error the error with which the run ends, unless another error came first.
 */
export function stopUploads(run: SubmitChunksNeeds, error: FoliopipeError): void {
  if (!(error instanceof OutageError) && !run.uploads.stopped) {
    run.logger.warn(
      { code: error.code, ...error.facts },
      `${error.message}; what was sent already continues`,
    );
  }
  run.uploads.stopped = true;
  // A scheduler may repeat the command after an outage, but not after this: a person must look first.
  if (error instanceof UntrustedError) run.deferred.error = error;
  run.deferred.error ??= error;
}

/**
 * Stops after unreadable replies: the next reply would probably be unreadable too, and its chunk paid for.
 * @param last describes the last unreadable reply, if it came in this process.
 */
export async function stopForUnreadable(
  run: SubmitChunksNeeds,
  { unreadable }: ReplyBreaker,
  last?: string,
): Promise<void> {
  const error = new UntrustedError(
    'RECEIPTS_UNREADABLE',
    `run ${run.id}: ${unreadable} replies to uploads in a row could not be read, so nothing more is uploaded${last === undefined ? '' : `; the last: ${last}`}`,
    {
      hint: await unreadableHint(run.checkpoint, run.id),
      facts: { run: run.id, inRow: unreadable },
    },
  );
  stopUploads(run, error);
}

/**
 * Stops after a redirect: the service would redirect every other upload too, and might accept each of them.
 * @returns the error with which the run ends at once.
 */
export async function stopForRedirect(
  run: SubmitChunksNeeds,
  { number: chunk }: ChunkRow,
  { code, doubt, message, hint, facts }: AmbiguousUploadError,
): Promise<AmbiguousUploadError> {
  const { stopped } = run.uploads;
  run.uploads.stopped = true;
  // The client of a program may name neither the file nor what to do.
  const fileName = (await ambiguousFile(run.checkpoint, run.id, chunk))!;
  const hints = [hint, adoptHint(run.id, { chunk, fileName })].filter((each) => each !== undefined);
  const named = new AmbiguousUploadError(code, `chunk ${chunk}: ${message}`, {
    doubt,
    hint: hints.join('; '),
    facts: { ...facts, chunk },
  });
  // A run ends with its first error only. The redirects of other uploads in flight are logged here.
  if (stopped) run.logger.warn({ chunk, code }, `${named.message}; ${named.hint}`);
  return named;
}

/**
 * Stops because an earlier attempt of the chunk was redirected and no upload was accepted since then.
 * @returns the error with which the run ends at once.
 */
export async function stopForEarlierRedirect(
  run: SubmitChunksNeeds,
  { number: chunk }: ChunkRow,
): Promise<AmbiguousUploadError> {
  run.uploads.stopped = true;
  const files = await adoptHints(run.checkpoint, run.id);
  return new AmbiguousUploadError(
    'SERVICE_REDIRECTS',
    `run ${run.id}: the upload of chunk ${chunk} was redirected and may have been accepted; it is not sent again while every upload is redirected`,
    {
      doubt: 'redirected',
      hint: `${files}; then foliopipe run. Or write the right address into service.baseUrl and start a new run with ${newRunCommand(true)}, which pays again`,
      facts: { run: run.id, chunk },
    },
  );
}
