/**
 * One upload of a chunk, by laws 2 and 3: the intent is committed before the POST, the folio when the reply is
 * read, and what nobody can know is ambiguous.
 */
import type { Checkpoint, ChunkRow, Upload } from '../../checkpoint/checkpoint.js';
import { budgetAt } from '../../config/budget-at.js';
import { AmbiguousUploadError, FoliopipeError, TroubleError, UntrustedError } from '../../errors.js';
import type { UploadContent } from '../../files/run-files.js';
import { adoptCommand } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';
import type { Doubt } from '../../types.js';
import { createUploadLayout, cutChunks } from '../chunk/cut-chunks.js';
import { checkFilesBetween, type RecordsOfNeeds, recordsOf, sourceChanged } from '../read-source.js';
import { type RefuseMixedNeeds, refuseMixed } from './refuse-mixed.js';
import { uploadNames } from './upload-names.js';

export type UploadChunkNeeds = RecordsOfNeeds &
  RefuseMixedNeeds &
  Pick<RunContext, 'files' | 'api' | 'clock' | 'logger' | 'at'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'misreadUpload' | 'recordIntent' | 'recordAccepted' | 'recordDropped' | 'recordAmbiguous'
    >;
  };

/**
 * @returns the chunk, `submitted`.
 * @throws AmbiguousUploadError, RefusedError, OutageError from the upload; GuardError when the budget is used up;
 *   UntrustedError when the service counts other records, or is another than the one that answered before.
 */
export async function uploadChunk(run: UploadChunkNeeds, chunk: ChunkRow): Promise<ChunkRow> {
  await restoreChunk(run, chunk);
  run.signal.throwIfAborted();
  // Before the intent: a file that cannot be read leaves no upload in doubt.
  const content = await run.files.chunkContent(chunk.number);
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
  if (receipt.totalRecords !== null && receipt.totalRecords !== chunk.records) await refuseMisread(run);
  await refuseMixed(run);
  return accepted;
}

/**
 * The service reads our files otherwise than we wrote them: no more is sent, in this process or a later one.
 * @throws UntrustedError when there is such an upload.
 */
export async function refuseMisread(run: Pick<UploadChunkNeeds, 'id' | 'checkpoint'>): Promise<void> {
  const misread = await run.checkpoint.misreadUpload(run.id);
  if (misread === undefined) return;
  const { chunk, folio, records, serviceRecords, fileName } = misread;
  throw new UntrustedError(
    'UPLOAD_MISREAD',
    `chunk ${chunk}: the service read ${serviceRecords} records where ${records} were sent`,
    {
      hint: `nothing more is uploaded; ask the service provider about ${fileName}`,
      facts: { chunk, folio },
    },
  );
}

async function post(run: UploadChunkNeeds, intent: Upload, content: UploadContent, description: string) {
  const file = { ...content, name: intent.fileName };
  try {
    return await run.api.upload({ file, description }, run.signal);
  } catch (error) {
    const now = run.clock.now();
    const doubt = doubtOf(error, run.signal);
    if (doubt === undefined) await run.checkpoint.recordDropped(run.id, intent.chunk, now);
    else await run.checkpoint.recordAmbiguous(run.id, intent.chunk, now, doubt);
    throw error;
  }
}

/** The reply was read: what it says must not be lost with the disk that it cannot be written to. */
async function recordAccepted(
  run: UploadChunkNeeds,
  chunk: ChunkRow,
  reply: Parameters<Checkpoint['recordAccepted']>[2],
): Promise<ChunkRow> {
  try {
    return await run.checkpoint.recordAccepted(run.id, chunk.number, reply, run.clock.now());
  } catch (cause) {
    const facts = { chunk: chunk.number, folio: reply.folio };
    const what = `chunk ${chunk.number} was accepted as folio ${reply.folio}, but that could not be written down: ${String(cause)}`;
    const hint = `mend the state folder, then: ${adoptCommand(run.id, chunk.number, reply.folio)}`;
    // A run ends with its first error alone, and this may be another one's: each folio is told at once.
    run.logger.error({ ...facts, code: 'FOLIO_NOT_RECORDED' }, `${what}; ${hint}`);
    throw new TroubleError('FOLIO_NOT_RECORDED', what, { hint, facts, cause });
  }
}

// Makes sure that a chunk's file is there with the bytes that were cut, cutting it again where it is not.

/** @throws SourceError when the source no longer gives the same chunk. */
export async function restoreChunk(
  run: RecordsOfNeeds & Pick<RunContext, 'files'>,
  chunk: ChunkRow,
): Promise<void> {
  if (await run.files.hasChunk(chunk.number, chunk.sha256)) return;
  await checkFilesBetween(run.source, chunk.start, chunk.end);
  const layout = createUploadLayout(run.source, run.config.upload);
  const limits = {
    maxRecords: chunk.records,
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxSourceBytes: Number.MAX_SAFE_INTEGER,
  };
  for await (const { chunk: again, content } of cutChunks(recordsOf(run, chunk), layout, limits)) {
    if (again.sha256 !== chunk.sha256) break;
    await run.files.writeChunk(chunk.number, [content], chunk.sha256);
    return;
  }
  throw sourceChanged(
    run.source.files[chunk.start.file]!.path,
    `chunk ${chunk.number} is no longer the same`,
  );
}

// Whether a paid request that ended with an error may count all the same, and why nobody knows (law 3).

/**
 * The port promises of every error but one that the request certainly does not count; what is none of ours is a
 * fault that proves nothing.
 * @returns undefined where it certainly does not count.
 */
export function doubtOf(error: unknown, signal: AbortSignal): Doubt | undefined {
  if (error instanceof AmbiguousUploadError) return error.doubt;
  const isCertain = error instanceof FoliopipeError || (signal.aborted && error === signal.reason);
  return isCertain ? undefined : 'no-reply';
}
