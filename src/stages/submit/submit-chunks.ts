/**
 * Second stage: uploads chunks, with a limit on the uploads in flight and on the open folios. The halves of a refused
 * chunk are uploaded next. Ambiguous chunks are decided when everything else is sent.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { AmbiguousUploadError, GuardError, OutageError, RefusedError } from '../../errors.js';
import { abortOnEarlyReturn } from '../../streams/abortable.js';
import { type AddItems, mapGrowing } from '../../streams/map-concurrent.js';
import { permitName } from '../../streams/permits.js';
import type { Refetch } from '../download/repair-parts.js';
import { judgeFirstChunks } from '../merge/judge-first-chunks.js';
import { checkNotMisread, checkOneService } from './check-replies.js';
import { findEarlyFailures } from './find-early-failures.js';
import { resolveAmbiguous, warnAmbiguous } from './resolve-ambiguous.js';
import { resolveRefused } from './resolve-refused.js';
import { stopForRedirect, stopForUnreadable, stopUploads } from './stop-uploads.js';
import type { SubmitChunksNeeds } from './submit-needs.js';
import { createReplyBreaker, hasUnsentChunks, type ReplyBreaker } from './unreadable-replies.js';
import { NotAdmitted, uploadChunk } from './upload-chunk.js';

/**
 * Passes on chunks whose folio is known, and chunks that are given up or refused. Does not pass on a chunk that stays
 * ambiguous, or that is not sent because of an outage, a guard or too many unreadable replies.
 * @param refetch fetches the parts of a chunk again, if they are damaged or do not prove the join.
 * @throws RefusedError, TroubleError from the upload; AmbiguousUploadError when it is redirected; UntrustedError when
 *   the service counts a different number of records, or more than one service answers.
 */
export function submitChunks(
  run: SubmitChunksNeeds,
  refetch?: Refetch,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const submitAll = async function* (chunks: AsyncIterable<ChunkRow>) {
    await checkNotMisread(run.checkpoint, run.id);
    await checkOneService(run.checkpoint, run.id);
    const breaker = createReplyBreaker(await run.checkpoint.doubtsInRow(run.id, 'unreadable'));
    const decider = createDecider(run, breaker);
    const submit = createSubmitter(run, breaker, refetch, decider);
    const { uploads } = run.config.concurrency;
    const left = await ambiguousChunks(run);
    const first = async (chunk: ChunkRow, add: AddItems<ChunkRow>) => {
      left.delete(chunk.number);
      return submit(chunk, add);
    };
    yield* mapGrowing(chunks, uploads, first, run.controller);
    if (run.uploads.stopped) return;
    // One at a time: the records that were sent again before decide whether the next chunk may be sent again.
    yield* mapGrowing(
      undecidedChunks(run, left),
      1,
      async (found, add) => {
        if (run.uploads.stopped) return undefined;
        // The process that had sent it before it lost its lease may have recorded what became of it.
        const chunk = (await run.checkpoint.chunk(run.id, found.number)) ?? found;
        const again = () => submit(chunk, add);
        return chunk.state === 'ambiguous' ? decider.decide(chunk, again) : again();
      },
      run.controller,
    );
  };
  return (chunks) => abortOnEarlyReturn(submitAll(chunks), run.controller);
}

/** The numbers of the chunks that are ambiguous. */
async function ambiguousChunks(run: SubmitChunksNeeds): Promise<Set<number>> {
  const found = new Set<number>();
  for await (const { number } of eachChunk(run.checkpoint, run.id, ['ambiguous'])) found.add(number);
  return found;
}

/**
 * The chunks that are ambiguous, then those that were.
 * @param left the numbers of chunks that were ambiguous before and have not been passed on.
 */
async function* undecidedChunks(run: SubmitChunksNeeds, left: Set<number>): AsyncGenerator<ChunkRow> {
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['ambiguous'])) {
    left.delete(chunk.number);
    yield chunk;
  }
  for (const number of left) {
    const chunk = await run.checkpoint.chunk(run.id, number);
    if (chunk?.state === 'submitted' || chunk?.state === 'cut') yield chunk;
  }
}

/** Submits a chunk. If the chunk is refused, adds the chunks that replace it. */
type Submit = (chunk: ChunkRow, add: AddItems<ChunkRow>) => Promise<ChunkRow | undefined>;

/** Decides about ambiguous chunks, about each once. */
interface Decider {
  /** Whether this process has not decided about it yet. */
  isOpen(chunk: ChunkRow): boolean;
  /** Calls `again` if it may be sent again. Does nothing the second time. */
  decide(chunk: ChunkRow, again: () => Promise<ChunkRow | undefined>): Promise<ChunkRow | undefined>;
}

function createDecider(run: SubmitChunksNeeds, breaker: ReplyBreaker): Decider {
  const decided = new Set<number>();
  const isOpen = ({ number }: ChunkRow) => !decided.has(number);
  const decide: Decider['decide'] = async (chunk, again) => {
    if (!isOpen(chunk)) return undefined;
    decided.add(chunk.number);
    const decision = await resolveAmbiguous(run, chunk, breaker);
    if (decision === 'again') return again();
    if (decision !== undefined) await run.folioPermits.release(permitName(run.id, chunk.number));
    return decision;
  };
  return { isOpen, decide };
}

function createSubmitter(
  run: SubmitChunksNeeds,
  breaker: ReplyBreaker,
  refetch: Refetch | undefined,
  { isOpen, decide }: Decider,
): Submit {
  const { inFlight } = run.uploads;
  const anyUploadEnds = async () => {
    if (inFlight.size === 0) return false;
    await Promise.race([...inFlight].map((upload) => upload.catch(() => undefined)));
    return true;
  };
  const upload = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    // After an unreadable reply uploads run one at a time, so that few chunks are at risk.
    while (breaker.unreadable > 0 && (await anyUploadEnds()));
    if (run.uploads.stopped || !breaker.allowsRequest) return undefined;
    const uploading = breaker.watch(uploadChunk(run, chunk));
    inFlight.add(uploading);
    try {
      return await uploading;
    } finally {
      inFlight.delete(uploading);
    }
  };

  let previousRefusal: Promise<unknown> = Promise.resolve();
  /** Handles one refusal at a time, so that the splits of a run are counted correctly. */
  const resolveInTurn = (chunk: ChunkRow, error: RefusedError) => {
    const replacements = previousRefusal.then(() => resolveRefused(run, chunk, error, anyUploadEnds));
    previousRefusal = replacements.catch(() => undefined);
    return replacements;
  };

  /** @returns `again` if the service admits no more folios now: the next permit is waited for. */
  const submitOnce = async (
    chunk: ChunkRow,
    permit: string,
    add: AddItems<ChunkRow>,
  ): Promise<ChunkRow | undefined | 'again'> => {
    try {
      const isOpen = chunk.state === 'submitted';
      const submitted = isOpen ? chunk : (await mayUpload(run, chunk, refetch)) && (await upload(chunk));
      if (submitted) {
        await run.folioPermits.opened?.(permit);
        return submitted;
      }
    } catch (error) {
      await run.folioPermits.release(permit);
      if (error instanceof NotAdmitted) return 'again';
      if (error instanceof RefusedError) add(...(await resolveInTurn(chunk, error)));
      else if (error instanceof OutageError || error instanceof GuardError) stopUploads(run, error);
      else if (error instanceof AmbiguousUploadError) {
        if (error.doubt === 'redirected') throw stopForRedirect(run, chunk, error);
        await warnAmbiguous(run, chunk, error);
        if (!breaker.allowsRequest && !(await isOnlyToGiveUp(run))) {
          await stopForUnreadable(run, breaker, error.message);
        }
      } else throw error;
      return undefined;
    }
    await run.folioPermits.release(permit);
    return undefined;
  };

  let deciding: Promise<unknown> | undefined;
  /** Decides about an ambiguous chunk before its time, because only such ones hold permits. One at a time. */
  const decideEarly = async (add: AddItems<ChunkRow>) => {
    for await (const doubtful of eachChunk(run.checkpoint, run.id, ['ambiguous'])) {
      if (isOpen(doubtful)) return decide(doubtful, () => submit(doubtful, add));
    }
    // All of them are in doubt again: a later run decides, and sends the rest.
    run.uploads.stopped = true;
    return undefined;
  };

  const submit: Submit = async (chunk, add) => {
    if (chunk.state === 'finished' || chunk.state === 'refused') return chunk;
    if (run.uploads.stopped && chunk.state !== 'submitted') return undefined;
    const permit = permitName(run.id, chunk.number);
    for (;;) {
      const acquired = await run.folioPermits.acquire(permit, run.signal);
      if (acquired === false) break;
      if (acquired === true) {
        const end = await submitOnce(chunk, permit, add);
        if (end !== 'again') return end;
      } else if (deciding === undefined) {
        // This chunk is next when the other one is decided.
        add(chunk);
        deciding = decideEarly(add).finally(() => {
          deciding = undefined;
        });
        return deciding as ReturnType<Submit>;
      } else await deciding;
      if (run.uploads.stopped) return undefined;
    }
    // Folios that timed out or could not be polled keep all permits: a later run sends the rest.
    run.uploads.stopped = true;
    return undefined;
  };
  return submit;
}

/** With `hold`, once all chunks are sent, there are no uploads to stop: the ambiguous chunks are given up next. */
async function isOnlyToGiveUp({ id, config, checkpoint }: SubmitChunksNeeds): Promise<boolean> {
  return config.ambiguous.policy === 'hold' && !(await hasUnsentChunks(checkpoint, id));
}

/** @throws GuardError when too many records of the first chunks have failed. */
async function mayUpload(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  refetch: Refetch | undefined,
): Promise<boolean> {
  if (run.uploads.stopped) return false;
  if ((await judgeFirstChunks(run, refetch)) !== undefined) return false;
  // A round sends failed records on purpose, so the failure rate does not apply.
  const failures = chunk.round === 0 ? await findEarlyFailures(run) : undefined;
  if (failures !== undefined) throw failures;
  return true;
}
