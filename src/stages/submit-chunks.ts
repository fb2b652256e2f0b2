/**
 * Second stage: uploads chunks, a bounded number at once and never more open folios than allowed. Laws 2 and
 * 3: the intent is committed before the POST, the folio when the reply is read, and what nobody can know is
 * ambiguous and comes last of all.
 */
import type { Checkpoint, ChunkRow, Upload } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import { budgetAt } from '../config/budget-at.js';
import {
  AmbiguousUploadError,
  FoliopipeError,
  OutageError,
  TroubleError,
  UntrustedError,
} from '../errors/index.js';
import { adoptCommand, adoptHint, ambiguousFile } from '../report/adoptable.js';
import type { RunContext } from '../run-context.js';
import { abortWhenLeft } from '../streams/abort-when-left.js';
import { mapConcurrent } from '../streams/map-concurrent.js';
import { restoreChunk } from './restore-chunk.js';
import { uploadNames } from './upload-names.js';

export type SubmitChunksNeeds = Pick<
  RunContext,
  | 'id'
  | 'source'
  | 'config'
  | 'files'
  | 'api'
  | 'folioPermits'
  | 'controller'
  | 'setbacks'
  | 'uploads'
  | 'signal'
  | 'clock'
  | 'logger'
  | 'at'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    | 'chunk'
    | 'chunksIn'
    | 'misreadUpload'
    | 'recordIntent'
    | 'recordAccepted'
    | 'recordDropped'
    | 'recordAmbiguous'
    | 'recordUnprocessed'
    | 'tally'
    | 'uploads'
  >;
};

/**
 * Passes on chunks whose folio is known, and those given up. A chunk that stays ambiguous is not passed on.
 * @throws RefusedError, TroubleError from the upload; UntrustedError when the service counts other records.
 */
export function submitChunks(
  run: SubmitChunksNeeds,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const submitAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    await refuseMisread(run);
    const { uploads } = run.config.concurrency;
    yield* mapConcurrent(chunks, uploads, (chunk) => submit(run, chunk), run.controller);
    if (run.uploads.stopped) return;
    // One at a time: whether a chunk may be sent again depends on what the ones before it have used up.
    const ambiguous = eachChunk(run.checkpoint, run.id, ['ambiguous']);
    yield* mapConcurrent(ambiguous, 1, (chunk) => decideAmbiguous(run, chunk), run.controller);
  };
  return (chunks) => abortWhenLeft(submitAll(chunks), run.controller);
}

async function submit(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow | undefined> {
  if (chunk.state === 'finished') return chunk;
  if (!(await run.folioPermits.acquire(chunk.number, run.signal))) {
    // As many folios as may be open are stuck: nothing more is sent before a later run finds one of them done.
    run.uploads.stopped = true;
    return undefined;
  }
  if (chunk.state === 'submitted') return chunk;
  if (run.uploads.stopped) {
    run.folioPermits.release(chunk.number);
    return undefined;
  }
  try {
    return await upload(run, chunk);
  } catch (error) {
    run.folioPermits.release(chunk.number);
    if (error instanceof OutageError) {
      // More would only wait for the end of the outage one by one; what is sent already goes on.
      run.uploads.stopped = true;
      run.setbacks.first ??= error;
      return undefined;
    }
    if (!(error instanceof AmbiguousUploadError)) throw error;
    run.logger.warn(
      { chunk: chunk.number, code: error.code },
      `chunk ${chunk.number}: ${error.message}; it may have been accepted, so it is decided on last of all${await howToAdopt(run, chunk)}`,
    );
    return undefined;
  }
}

/** The end of a warning about an ambiguous chunk. */
async function howToAdopt(run: SubmitChunksNeeds, { number: chunk }: ChunkRow): Promise<string> {
  const fileName = await ambiguousFile(run.checkpoint, run.id, chunk);
  return fileName === undefined ? '' : `; ${adoptHint(run.id, { chunk, fileName })}`;
}

async function upload(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow> {
  await restoreChunk(run, chunk);
  run.signal.throwIfAborted();
  const names = uploadNames(run, chunk);
  const now = run.clock.now();
  const budget = budgetAt(run.config.budget, now);
  const intent = await run.checkpoint.recordIntent(run.id, chunk.number, names.fileName, now, budget);
  run.at('after-intent-before-post');
  const receipt = await post(run, intent, names.description);
  run.at('after-post-before-commit');
  const reply = { folio: receipt.folio, serviceRecords: receipt.totalRecords, rehearsal: receipt.rehearsal };
  await recordAccepted(run, chunk, reply);
  run.at('after-accepted-before-poll');
  run.logger.debug(
    { chunk: chunk.number, folio: receipt.folio, records: chunk.records },
    `chunk ${chunk.number} submitted as folio ${receipt.folio}`,
  );
  if (receipt.totalRecords !== null && receipt.totalRecords !== chunk.records) await refuseMisread(run);
  return (await run.checkpoint.chunk(run.id, chunk.number))!;
}

/** The reply was read: what it says must not be lost with the disk that it cannot be written to. */
async function recordAccepted(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  reply: Parameters<Checkpoint['recordAccepted']>[2],
): Promise<void> {
  try {
    await run.checkpoint.recordAccepted(run.id, chunk.number, reply, run.clock.now());
  } catch (cause) {
    throw new TroubleError(
      'FOLIO_NOT_RECORDED',
      `chunk ${chunk.number} was accepted as folio ${reply.folio}, but that could not be written down: ${String(cause)}`,
      {
        hint: `mend the state folder, then: ${adoptCommand(run.id, chunk.number, reply.folio)}`,
        facts: { chunk: chunk.number, folio: reply.folio },
        cause,
      },
    );
  }
}

/** The service reads our files otherwise than we wrote them: no more is sent, in this process or a later one. */
async function refuseMisread(run: SubmitChunksNeeds): Promise<void> {
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
    `chunk ${chunk.number} may have been accepted and is not sent again: ${why}${await howToAdopt(run, chunk)}`,
  );
  return run.checkpoint.chunk(run.id, chunk.number);
}
