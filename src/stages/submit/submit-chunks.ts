/**
 * Second stage: uploads chunks, a bounded number at once and never more open folios than allowed. What the
 * service refuses is halved, and the halves go next; what nobody can know is ambiguous and comes last of all.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { AmbiguousUploadError, GuardError, OutageError, RefusedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { abortWhenLeft } from '../../streams/abort-when-left.js';
import { type AddItems, mapGrowing } from '../../streams/map-concurrent.js';
import type { Refetch } from '../download/with-healing.js';
import { type JudgeArrivedNeeds, judgeArrived } from '../merge/judge-arrived.js';
import { type EarlyFailuresNeeds, findEarlyFailures } from './find-early-failures.js';
import { refuseMixed } from './refuse-mixed.js';
import { type SettleAmbiguousNeeds, settleAmbiguous, tellAmbiguous } from './settle-ambiguous.js';
import { type RefusedChunkNeeds, settleRefused } from './settle-refused.js';
import { stopRedirected, stopUnreadable, stopUploads } from './stop-uploads.js';
import { createReceiptRow, isAnyLeftToSend, type ReceiptRow } from './unreadable-replies.js';
import { refuseMisread, type UploadChunkNeeds, uploadChunk } from './upload-chunk.js';

export type SubmitChunksNeeds = UploadChunkNeeds &
  RefusedChunkNeeds &
  SettleAmbiguousNeeds &
  EarlyFailuresNeeds &
  JudgeArrivedNeeds &
  Pick<RunContext, 'folioPermits' | 'controller'> & {
    readonly checkpoint: Pick<Checkpoint, 'doubtsInRow'>;
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
    const receipts = createReceiptRow(await run.checkpoint.doubtsInRow(run.id, 'unreadable'));
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
      await run.folioPermits.release(chunk.number);
      if (error instanceof RefusedError) add(...(await settle(chunk, error)));
      else if (error instanceof OutageError || error instanceof GuardError) stopUploads(run, error);
      else if (error instanceof AmbiguousUploadError) {
        if (error.doubt === 'redirected') throw stopRedirected(run, chunk, error);
        await tellAmbiguous(run, chunk, error);
        if (!receipts.mayGoOn && !(await isOnlyToGiveUp(run))) {
          await stopUnreadable(run, receipts, error.message);
        }
      } else throw error;
      return undefined;
    }
    await run.folioPermits.release(chunk.number);
    return undefined;
  };
}

/** Where nothing is left to be sent there is nothing to stop: what is held is given up when its turn comes. */
async function isOnlyToGiveUp(run: SubmitChunksNeeds): Promise<boolean> {
  return run.config.ambiguous.policy === 'hold' && !(await isAnyLeftToSend(run));
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
