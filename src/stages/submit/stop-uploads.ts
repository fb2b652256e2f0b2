/** Ends the uploads of a process: an outage, a guard, replies that cannot be read, or a redirect. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { AmbiguousUploadError, type FoliopipeError, OutageError, UntrustedError } from '../../errors.js';
import { adoptHint, adoptHints } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';
import { type ReceiptRow, unreadWaysOut } from './unreadable-replies.js';

export type StopUploadsNeeds = Pick<RunContext, 'id' | 'uploads' | 'setbacks' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'uploads' | 'run' | 'tally'>;
};

/** More would only wait for the end of an outage one by one, or must not be paid; what is sent already goes on. */
export function stopUploads(run: StopUploadsNeeds, error: FoliopipeError): void {
  if (!(error instanceof OutageError) && !run.uploads.stopped) {
    run.logger.warn({ code: error.code, ...error.facts }, `${error.message}; what is sent already goes on`);
  }
  run.uploads.stopped = true;
  // After an outage a scheduler types the same command again; here a person must look first.
  if (error instanceof UntrustedError) run.setbacks.first = error;
  run.setbacks.first ??= error;
}

/**
 * Each further reply would be as little use, and each file paid for.
 * @param last what the last one looked like, where this process has seen one.
 */
export async function stopUnreadable(
  run: StopUploadsNeeds,
  { length }: ReceiptRow,
  last?: string,
): Promise<void> {
  const error = new UntrustedError(
    'RECEIPTS_UNREADABLE',
    `run ${run.id}: ${length} replies to uploads in a row could not be read, so nothing more is uploaded${last === undefined ? '' : `; the last: ${last}`}`,
    {
      hint: await unreadWaysOut(run),
      facts: { run: run.id, inRow: length },
    },
  );
  stopUploads(run, error);
}

/** What a run ends with whose chunk was redirected before, while nothing says that it would not be again. */
export async function stillRedirected(
  run: StopUploadsNeeds,
  { number: chunk }: ChunkRow,
): Promise<AmbiguousUploadError> {
  run.uploads.stopped = true;
  const files = await adoptHints(run.checkpoint, run.id);
  return new AmbiguousUploadError(
    'SERVICE_REDIRECTS',
    `run ${run.id}: the upload of chunk ${chunk} was redirected and may have been accepted; it is not sent again while every upload is redirected`,
    {
      doubt: 'redirected',
      hint: `${files}; then foliopipe run. Or write the right address into service.baseUrl and begin afresh with foliopipe run --new, which pays again`,
      facts: { run: run.id, chunk },
    },
  );
}

/**
 * Every upload would be redirected, and each may be accepted all the same.
 * @returns what the run is to end with at once.
 */
export function stopRedirected(
  run: StopUploadsNeeds,
  { number: chunk }: ChunkRow,
  { code, doubt, message, hint, facts }: AmbiguousUploadError,
): AmbiguousUploadError {
  const fileName = String(facts.fileName);
  const named = new AmbiguousUploadError(code, `chunk ${chunk}: ${message}`, {
    doubt,
    hint: `${hint}; ${adoptHint(run.id, { chunk, fileName })}`,
    facts: { ...facts, chunk },
  });
  // The run ends with its first error alone; this is one of those that were in flight beside it.
  if (run.uploads.stopped) run.logger.warn({ chunk, code }, `${named.message}; ${named.hint}`);
  run.uploads.stopped = true;
  return named;
}
