/**
 * Second stage: uploads chunks, a bounded number at once and never more open folios than allowed. Laws 2 and
 * 3: the intent is committed before the POST, the folio when the reply is read, and what nobody can know is
 * ambiguous and comes last of all.
 */
import type { Checkpoint, ChunkRow, Upload } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import { AmbiguousUploadError, FoliopipeError, UntrustedError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';
import { mapConcurrent } from '../streams/map-concurrent.js';
import { restoreChunk } from './restore-chunk.js';
import { uploadNames } from './upload-names.js';

export type SubmitChunksNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'files' | 'api' | 'folioPermits' | 'signal' | 'clock' | 'logger' | 'at'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    | 'chunk'
    | 'chunksIn'
    | 'recordIntent'
    | 'recordAccepted'
    | 'recordDropped'
    | 'recordAmbiguous'
    | 'recordUnprocessed'
    | 'tally'
  >;
};

/**
 * Passes on chunks whose folio is known, and those given up. A chunk that stays ambiguous is not passed on.
 * @throws RefusedError, TroubleError from the upload; UntrustedError when the service counts other records.
 */
export function submitChunks(
  run: SubmitChunksNeeds,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  return async function* (chunks) {
    const { uploads } = run.config.concurrency;
    yield* mapConcurrent(chunks, uploads, (chunk) => submit(run, chunk));
    // One at a time: whether a chunk may be sent again depends on what the ones before it have used up.
    yield* mapConcurrent(eachChunk(run.checkpoint, run.id, ['ambiguous']), 1, (chunk) =>
      decideAmbiguous(run, chunk),
    );
  };
}

async function submit(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow | undefined> {
  if (chunk.state === 'finished') return chunk;
  await run.folioPermits.acquire(chunk.number, run.signal);
  if (chunk.state === 'submitted') return chunk;
  try {
    return await upload(run, chunk);
  } catch (error) {
    run.folioPermits.release(chunk.number);
    if (!(error instanceof AmbiguousUploadError)) throw error;
    run.logger.warn(
      { chunk: chunk.number, code: error.code },
      `chunk ${chunk.number}: ${error.message}; it may have been accepted, so it is decided on last of all`,
    );
    return undefined;
  }
}

async function upload(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow> {
  await restoreChunk(run, chunk);
  run.signal.throwIfAborted();
  const names = uploadNames(run, chunk);
  const intent = await run.checkpoint.recordIntent(run.id, chunk.number, names.fileName, run.clock.now());
  run.at('after-intent-before-post');
  const receipt = await post(run, intent, names.description);
  run.at('after-post-before-commit');
  const reply = { folio: receipt.folio, serviceRecords: receipt.totalRecords, rehearsal: receipt.rehearsal };
  await run.checkpoint.recordAccepted(run.id, chunk.number, reply, run.clock.now());
  run.at('after-accepted-before-poll');
  run.logger.debug(
    { chunk: chunk.number, folio: receipt.folio, records: chunk.records },
    `chunk ${chunk.number} submitted as folio ${receipt.folio}`,
  );
  if (receipt.totalRecords !== null && receipt.totalRecords !== chunk.records) {
    throw new UntrustedError(
      'UPLOAD_MISREAD',
      `chunk ${chunk.number}: the service read ${receipt.totalRecords} records where ${chunk.records} were sent`,
      {
        hint: `nothing more is uploaded; look at ${run.files.chunkPath(chunk.number)} together with the service provider`,
        facts: { chunk: chunk.number, folio: receipt.folio },
      },
    );
  }
  return (await run.checkpoint.chunk(run.id, chunk.number))!;
}

async function post(run: SubmitChunksNeeds, intent: Upload, description: string) {
  const path = run.files.chunkPath(intent.chunk);
  try {
    return await run.api.upload({ path, fileName: intent.fileName, description }, run.signal);
  } catch (error) {
    const now = run.clock.now();
    if (isCertainlyNotAccepted(error, run.signal)) {
      await run.checkpoint.recordDropped(run.id, intent.chunk, now);
    } else {
      await run.checkpoint.recordAmbiguous(run.id, intent.chunk, now);
    }
    throw error;
  }
}

/** The port promises it for every error but one; what is none of ours is a fault that proves nothing. */
function isCertainlyNotAccepted(error: unknown, signal: AbortSignal): boolean {
  if (error instanceof AmbiguousUploadError) return false;
  return error instanceof FoliopipeError || (signal.aborted && error === signal.reason);
}

/** Sends an ambiguous chunk again, at most once in a process and within the run's allowance, or gives it up. */
async function decideAmbiguous(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow | undefined> {
  // An interrupted run decides nothing: until the next one there is time to adopt.
  run.signal.throwIfAborted();
  const { policy, maxRecords } = run.config.ambiguous;
  const { ambiguousRecords } = await run.checkpoint.tally(run.id);
  if (policy === 'resubmit' && ambiguousRecords <= maxRecords) {
    run.logger.warn(
      { chunk: chunk.number, records: chunk.records },
      `chunk ${chunk.number} is sent again: its ${chunk.records} records may be paid for twice`,
    );
    return submit(run, chunk);
  }
  await run.checkpoint.recordUnprocessed(run.id, chunk.number, 'AMBIGUOUS_HELD');
  const why = policy === 'hold' ? 'ambiguous.policy is hold' : `ambiguous.maxRecords is ${maxRecords}`;
  run.logger.warn(
    { chunk: chunk.number, records: chunk.records },
    `chunk ${chunk.number} may have been accepted and is not sent again: ${why}`,
  );
  return run.checkpoint.chunk(run.id, chunk.number);
}
