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
  UntrustedError,
} from '../errors/index.js';
import { adoptHint, ambiguousFile, findAdoptable } from '../report/adoptable.js';
import type { RunContext } from '../run-context.js';
import { abortWhenLeft } from '../streams/abort-when-left.js';
import { type AddItems, mapGrowing } from '../streams/map-growing.js';
import { type EarlyFailuresNeeds, findEarlyFailures } from './find-early-failures.js';
import { type JudgeArrivedNeeds, judgeArrived } from './judge-arrived.js';
import { createReceiptRow, type ReceiptRow } from './receipt-row.js';
import { refuseMixed } from './refuse-mixed.js';
import { type RefusedChunkNeeds, settleRefused } from './settle-refused.js';
import { refuseMisread, type UploadChunkNeeds, uploadChunk } from './upload-chunk.js';
import { wasUnreadable } from './was-unreadable.js';
import type { Refetch } from './with-healing.js';

export type SubmitChunksNeeds = UploadChunkNeeds &
  RefusedChunkNeeds &
  EarlyFailuresNeeds &
  JudgeArrivedNeeds &
  Pick<RunContext, 'folioPermits' | 'controller' | 'setbacks' | 'uploads'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'chunksIn' | 'recordUnprocessed' | 'tally' | 'uploads' | 'unreadableInRow'
    >;
  };

/**
 * Passes on chunks whose folio is known, and those given up or refused. A chunk that stays ambiguous, or that an
 * outage, a guard or too many unreadable replies hold back, is not passed on.
 * @param refetch fetches a chunk's parts anew, where what is downloaded is damaged or does not prove the join.
 * @throws RefusedError, TroubleError from the upload; AmbiguousUploadError when it is redirected; UntrustedError
 *   when the service counts other records, or another one answers.
 */
export function submitChunks(
  run: SubmitChunksNeeds,
  refetch?: Refetch,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const submitAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    await refuseMisread(run);
    await refuseMixed(run);
    const receipts = createReceiptRow(await run.checkpoint.unreadableInRow(run.id));
    const submit = createSubmitter(run, receipts, refetch);
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
        if (chunk.state !== 'ambiguous') return submit(chunk, add);
        const decided = await settleAmbiguous(run, chunk, receipts);
        return decided === 'again' ? submit(chunk, add) : decided;
      },
      run.controller,
    );
  };
  return (chunks) => abortWhenLeft(submitAll(chunks), run.controller);
}

/** Submits a chunk, or adds those that take its place. */
type Submit = (chunk: ChunkRow, add: AddItems<ChunkRow>) => Promise<ChunkRow | undefined>;

function createSubmitter(run: SubmitChunksNeeds, receipts: ReceiptRow, refetch: Refetch | undefined): Submit {
  const { inFlight } = run.uploads;
  const oneEnds = async () => {
    if (inFlight.size === 0) return false;
    await Promise.race([...inFlight].map((upload) => upload.catch(() => undefined)));
    return true;
  };
  const upload = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    while (receipts.length > 0 && (await oneEnds()));
    if (run.uploads.stopped || !receipts.mayGoOn) return undefined;
    const uploading = receipts.count(uploadChunk(run, chunk));
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
      const submitted = (await mayUpload(run, chunk, refetch)) ? await upload(chunk) : undefined;
      if (submitted !== undefined) return submitted;
    } catch (error) {
      run.folioPermits.release(chunk.number);
      if (error instanceof RefusedError) add(...(await settle(chunk, error)));
      else if (error instanceof OutageError || error instanceof GuardError) stopUploads(run, error);
      else if (error instanceof AmbiguousUploadError) {
        if (error.doubt === 'redirected') throw stopRedirected(run, chunk, error);
        await tellAmbiguous(run, chunk, error);
        if (!receipts.mayGoOn) stopUploads(run, await receiptsUnreadable(run, receipts, error.message));
      } else throw error;
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
  if (!(error instanceof OutageError) && !run.uploads.stopped) {
    run.logger.warn({ code: error.code, ...error.facts }, `${error.message}; what is sent already goes on`);
  }
  run.uploads.stopped = true;
  // After an outage a scheduler types the same command again; here a person must look first.
  if (error instanceof UntrustedError) run.setbacks.first = error;
  run.setbacks.first ??= error;
}

/** @param last what the last reply looked like, where this process has seen one. */
async function receiptsUnreadable(
  run: SubmitChunksNeeds,
  { length }: ReceiptRow,
  last?: string,
): Promise<UntrustedError> {
  const files = (await findAdoptable(run.checkpoint, run.id, hintsAtMost)).map((one) =>
    adoptHint(run.id, one),
  );
  return new UntrustedError(
    'RECEIPTS_UNREADABLE',
    `run ${run.id}: ${length} replies to uploads in a row could not be read, so nothing more is uploaded${last === undefined ? '' : `; the last: ${last}`}`,
    {
      hint: `each file may be accepted and paid for, and is not sent again: look what answers at service.baseUrl, and ask the service provider; ${files.join('; ')}; the same command sends at most one chunk more to see`,
      facts: { run: run.id, inRow: length },
    },
  );
}

const hintsAtMost = 3;

/** Every upload would be redirected, and each may be accepted all the same. */
function stopRedirected(
  run: SubmitChunksNeeds,
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
 * Decides on an ambiguous chunk, once in a process. One whose reply came and could not be read is not sent again:
 * the service has answered, so it is likely to have it.
 * @returns it, given up; `again` where it is sent again within the run's allowance; undefined where a person must
 *   look first, for no reply of the run could ever be read.
 */
async function settleAmbiguous(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  receipts: ReceiptRow,
): Promise<ChunkRow | 'again' | undefined> {
  // An interrupted run decides nothing: until the next one there is time to adopt.
  run.signal.throwIfAborted();
  const { policy, maxRecords } = run.config.ambiguous;
  const { ambiguousRecords, uploads } = await run.checkpoint.tally(run.id);
  const isUnreadable = await wasUnreadable(run, chunk.number);
  if (isUnreadable && receipts.isFull && uploads.accepted === 0) {
    stopUploads(run, await receiptsUnreadable(run, receipts));
    return undefined;
  }
  if (policy === 'resubmit' && !isUnreadable && ambiguousRecords <= maxRecords) {
    run.logger.warn(
      { chunk: chunk.number, records: chunk.records },
      `chunk ${chunk.number} is sent again: its ${chunk.records} records may be paid for twice`,
    );
    return 'again';
  }
  const givenUp = await run.checkpoint.recordUnprocessed(run.id, chunk.number, 'AMBIGUOUS_HELD');
  const allowance = policy === 'hold' ? 'ambiguous.policy is hold' : `ambiguous.maxRecords is ${maxRecords}`;
  const why = isUnreadable ? 'its reply came and could not be read' : allowance;
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
