/**
 * Uploads a chunk once: commits the intent before the POST, and the folio as soon as the reply is read (rule "Intent
 * first", docs/architecture.md#intent-first). If it is unknown whether the service accepted the chunk, it is ambiguous.
 */
import type { Checkpoint, ChunkRow, Upload } from '../../checkpoint/checkpoint.js';
import { budgetAt } from '../../config/calendar.js';
import { AmbiguousUploadError, FoliopipeError, TroubleError } from '../../errors.js';
import { adoptCommand } from '../../report/adoptable.js';
import type { Doubt, UploadContent } from '../../types.js';
import { restoreChunk } from '../chunk/save-chunk.js';
import { checkNotMisread, checkOneService } from './check-replies.js';
import type { SubmitChunksNeeds } from './submit-needs.js';
import { uploadNames } from './upload-names.js';

/**
 * @returns the chunk, `submitted`.
 * @throws AmbiguousUploadError, RefusedError, OutageError from the upload; GuardError when the budget is used up;
 *   UntrustedError when the service counts a different number of records, or when more than one service answers.
 */
export async function uploadChunk(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow> {
  await restoreChunk(run, chunk);
  // Read before the intent is committed, so that a file that cannot be read leaves no ambiguous upload.
  const content = await run.files.chunkContent(chunk.number);
  run.signal.throwIfAborted();
  const names = uploadNames(run, chunk);
  const now = run.clock.now();
  const budget = budgetAt(run.config.budget, now);
  const intent = await run.checkpoint.recordIntent(run.id, chunk.number, names.fileName, now, budget);
  run.at('after-intent-before-post');
  const receipt = await post(run, intent, content, names.description);
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
  await checkOneService(run.checkpoint, run.id);
  return accepted;
}

async function post(run: SubmitChunksNeeds, intent: Upload, content: UploadContent, description: string) {
  const file = { ...content, name: intent.fileName };
  try {
    return await run.api.upload({ file, description }, run.signal);
  } catch (error) {
    const now = run.clock.now();
    const doubt = whyAmbiguous(error, run.signal);
    if (doubt === undefined) await run.checkpoint.recordDropped(run.id, intent.chunk, now);
    else await run.checkpoint.recordAmbiguous(run.id, intent.chunk, now, doubt);
    throw error;
  }
}

/** If the folio cannot be recorded, for example on a full disk, the error names it, so that a person can adopt it. */
async function recordAccepted(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  reply: Parameters<Checkpoint['recordAccepted']>[2],
): Promise<ChunkRow> {
  try {
    return await run.checkpoint.recordAccepted(run.id, chunk.number, reply, run.clock.now());
  } catch (cause) {
    const facts = { chunk: chunk.number, folio: reply.folio };
    const what = `chunk ${chunk.number} was accepted as folio ${reply.folio}, but that could not be recorded: ${String(cause)}`;
    const hint = `repair the state folder, then: ${adoptCommand(run.id, chunk.number, reply.folio)}`;
    // A run ends with its first error only, and this may be a later one. So each such folio is logged at once.
    run.logger.error({ ...facts, code: 'FOLIO_NOT_RECORDED' }, `${what}; ${hint}`);
    throw new TroubleError('FOLIO_NOT_RECORDED', what, { hint, facts, cause });
  }
}

/**
 * Says why a paid request that ended with an error is ambiguous. The API port guarantees that the request was not
 * accepted if it throws the reason of the signal, or a FoliopipeError other than AmbiguousUploadError. An unknown error
 * proves nothing, so the request counts as ambiguous.
 * @returns undefined if the request was certainly not accepted.
 */
export function whyAmbiguous(error: unknown, signal: AbortSignal): Doubt | undefined {
  if (error instanceof AmbiguousUploadError) return error.doubt;
  const isCertain = error instanceof FoliopipeError || (signal.aborted && error === signal.reason);
  return isCertain ? undefined : 'no-reply';
}
