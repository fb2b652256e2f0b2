/**
 * Second stage: uploads chunks, a bounded number at once and never more open folios than allowed. What the
 * service refuses is halved, and the halves go next; what nobody can know is ambiguous and comes last of all.
 */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import {
  AmbiguousUploadError,
  type FoliopipeError,
  GuardError,
  OutageError,
  RefusedError,
} from '../errors/index.js';
import { adoptHint, ambiguousFile } from '../report/adoptable.js';
import type { RunContext } from '../run-context.js';
import { abortWhenLeft } from '../streams/abort-when-left.js';
import { type AddItems, mapGrowing } from '../streams/map-growing.js';
import { type EarlyFailuresNeeds, findEarlyFailures } from './find-early-failures.js';
import { type JudgeArrivedNeeds, judgeArrived } from './judge-arrived.js';
import { type RefusedChunkNeeds, settleRefused } from './settle-refused.js';
import { refuseMisread, type UploadChunkNeeds, uploadChunk } from './upload-chunk.js';
import type { Refetch } from './with-healing.js';

export type SubmitChunksNeeds = UploadChunkNeeds &
  RefusedChunkNeeds &
  EarlyFailuresNeeds &
  JudgeArrivedNeeds &
  Pick<RunContext, 'folioPermits' | 'controller' | 'setbacks' | 'uploads'> & {
    readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'recordUnprocessed' | 'tally' | 'uploads'>;
  };

/**
 * Passes on chunks whose folio is known, and those given up or refused. A chunk that stays ambiguous, or that an
 * outage or a guard holds back, is not passed on.
 * @param refetch fetches a chunk's parts anew, where what is downloaded is damaged or does not prove the join.
 * @throws RefusedError, TroubleError from the upload; UntrustedError when the service counts other records.
 */
export function submitChunks(
  run: SubmitChunksNeeds,
  refetch?: Refetch,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const submitAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    await refuseMisread(run);
    const submit = createSubmitter(run, refetch);
    const { uploads } = run.config.concurrency;
    yield* mapGrowing(chunks, uploads, submit, run.controller);
    if (run.uploads.stopped) return;
    // One at a time: whether a chunk may be sent again depends on what the ones before it have used up.
    const ambiguous = eachChunk(run.checkpoint, run.id, ['ambiguous']);
    yield* mapGrowing(
      ambiguous,
      1,
      async (chunk, add) => {
        if (run.uploads.stopped) return undefined;
        const givenUp = chunk.state === 'ambiguous' ? await settleAmbiguous(run, chunk) : undefined;
        return givenUp ?? submit(chunk, add);
      },
      run.controller,
    );
  };
  return (chunks) => abortWhenLeft(submitAll(chunks), run.controller);
}

/** Submits a chunk, or adds those that take its place. */
type Submit = (chunk: ChunkRow, add: AddItems<ChunkRow>) => Promise<ChunkRow | undefined>;

function createSubmitter(run: SubmitChunksNeeds, refetch: Refetch | undefined): Submit {
  const { inFlight } = run.uploads;
  const oneEnds = async () => {
    if (inFlight.size === 0) return false;
    await Promise.race([...inFlight].map((upload) => upload.catch(() => undefined)));
    return true;
  };
  const upload = async (chunk: ChunkRow): Promise<ChunkRow> => {
    const uploading = uploadChunk(run, chunk);
    inFlight.add(uploading);
    try {
      return await uploading;
    } finally {
      inFlight.delete(uploading);
    }
  };

  let settling: Promise<unknown> = Promise.resolve();
  /** One refusal after the other, so that the splits of a run are counted right. */
  const settle = (chunk: ChunkRow, error: RefusedError) => {
    const settled = settling.then(() => settleRefused(run, chunk, error, oneEnds));
    settling = settled.catch(() => undefined);
    return settled;
  };

  return async (chunk, add) => {
    if (chunk.state === 'finished' || chunk.state === 'refused') return chunk;
    if (!(await run.folioPermits.acquire(chunk.number, run.signal))) {
      // As many folios as may be open are stuck: nothing more is sent before a later run finds one of them done.
      run.uploads.stopped = true;
      return undefined;
    }
    if (chunk.state === 'submitted') return chunk;
    try {
      if (await mayUpload(run, chunk, refetch)) return await upload(chunk);
    } catch (error) {
      run.folioPermits.release(chunk.number);
      if (error instanceof RefusedError) add(...(await settle(chunk, error)));
      else if (error instanceof OutageError || error instanceof GuardError) stopUploads(run, error);
      else if (error instanceof AmbiguousUploadError) await tellAmbiguous(run, chunk, error);
      else throw error;
      return undefined;
    }
    run.folioPermits.release(chunk.number);
    return undefined;
  };
}

async function mayUpload(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  refetch: Refetch | undefined,
): Promise<boolean> {
  if (run.uploads.stopped) return false;
  if ((await judgeArrived(run, refetch)) !== undefined) return false;
  // A round is there for the records that failed.
  const failures = chunk.round === 0 ? await findEarlyFailures(run) : undefined;
  if (failures !== undefined) throw failures;
  return true;
}

/** More would only wait for the end of an outage one by one, or must not be paid; what is sent already goes on. */
function stopUploads(run: SubmitChunksNeeds, error: FoliopipeError): void {
  if (error instanceof GuardError && !run.uploads.stopped) {
    run.logger.warn({ code: error.code, ...error.facts }, `${error.message}; what is sent already goes on`);
  }
  run.uploads.stopped = true;
  run.setbacks.first ??= error;
}

async function tellAmbiguous(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  error: AmbiguousUploadError,
): Promise<void> {
  run.logger.warn(
    { chunk: chunk.number, code: error.code },
    `chunk ${chunk.number}: ${error.message}; it may have been accepted, so it is decided on last of all${await howToAdopt(run, chunk)}`,
  );
}

/**
 * Decides on an ambiguous chunk, once in a process.
 * @returns it, given up, or undefined where it is sent again within the run's allowance.
 */
async function settleAmbiguous(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<ChunkRow | undefined> {
  // An interrupted run decides nothing: until the next one there is time to adopt.
  run.signal.throwIfAborted();
  const { policy, maxRecords } = run.config.ambiguous;
  const { ambiguousRecords } = await run.checkpoint.tally(run.id);
  if (policy === 'resubmit' && ambiguousRecords <= maxRecords) {
    run.logger.warn(
      { chunk: chunk.number, records: chunk.records },
      `chunk ${chunk.number} is sent again: its ${chunk.records} records may be paid for twice`,
    );
    return undefined;
  }
  const givenUp = await run.checkpoint.recordUnprocessed(run.id, chunk.number, 'AMBIGUOUS_HELD');
  const why = policy === 'hold' ? 'ambiguous.policy is hold' : `ambiguous.maxRecords is ${maxRecords}`;
  run.logger.warn(
    { chunk: chunk.number, records: chunk.records },
    `chunk ${chunk.number} may have been accepted and is not sent again: ${why}${await howToAdopt(run, chunk)}`,
  );
  return givenUp;
}

/** The end of a warning about an ambiguous chunk. */
async function howToAdopt(run: SubmitChunksNeeds, { number: chunk }: ChunkRow): Promise<string> {
  const fileName = await ambiguousFile(run.checkpoint, run.id, chunk);
  return fileName === undefined ? '' : `; ${adoptHint(run.id, { chunk, fileName })}`;
}
