/**
 * Handles lost folios, which the service no longer knows. Their chunks are given up and the run goes on (rule "Trouble
 * stays with the chunk", docs/architecture.md#trouble-stays-with-the-chunk). Later runs ask for the folio again: a GET
 * costs nothing, and the results are paid for. They also ask for a folio that became known only after its chunk was
 * given up as ambiguous, because a process that had lost its lease recorded it.
 */

import type { AcceptedReply, Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { FolioLostError, FoliopipeError, TroubleError, UntrustedError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import type { RunContext } from '../../run-context.js';
import { withTimeLimit } from '../../streams/time-limit.js';
import { isComplete, isSamePart, listParts, requestFor } from '../download/folio-parts.js';
import { deferTrouble, withGiveUpHint } from '../download/give-up-hint.js';

/**
 * Gives up a chunk because its folio is lost. Its stored parts are kept, because a later run asks for the folio again.
 * @returns the chunk, `unprocessed`.
 */
export async function giveUpFolio(
  run: Pick<RunContext, 'id' | 'logger'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordUnprocessed' | 'recordUnmerged'>;
  },
  chunk: ChunkRow,
  error: FolioLostError,
): Promise<ChunkRow> {
  const { number, folio, records, round, firstRecord } = chunk;
  // The records of a round have failed before.
  const outcome = round === 0 ? 'now UNPROCESSED' : 'still FAILED';
  run.logger.error(
    { chunk: number, folio, code: error.code },
    `chunk ${number}: ${error.message}; ${countOf(records, 'record')} ${outcome}`,
  );
  if (round === 0) await run.checkpoint.recordUnmerged(run.id, firstRecord);
  return run.checkpoint.recordUnprocessed(run.id, number, 'FOLIO_LOST');
}

/**
 * What becomes of a chunk whose folio could not be polled or fetched: it is left to a later run, or given up because the
 * folio is lost.
 * @param until once it is aborted, a single reply that the folio is not known leaves the chunk unchanged.
 * @returns the chunk if it is given up.
 * @throws any other error; the hint of an UntrustedError then ends with the command that gives the folio up.
 */
export async function afterFolioError(
  run: Parameters<typeof giveUpFolio>[0] & Pick<RunContext, 'deferred'>,
  chunk: ChunkRow,
  error: unknown,
  until: AbortSignal | undefined,
): Promise<ChunkRow | undefined> {
  if (deferTrouble(run, chunk, error)) return undefined;
  if (error instanceof UntrustedError) throw withGiveUpHint(run.id, chunk, error);
  if (!(error instanceof FolioLostError)) throw error;
  return until?.aborted ? postponeFolio(run, chunk, error) : giveUpFolio(run, chunk, error);
}

/**
 * Leaves a chunk unchanged after a single reply that its folio is not known. Only a run that waits for folios asks long
 * enough to decide that a folio is lost.
 */
function postponeFolio(
  run: Pick<RunContext, 'id' | 'deferred'>,
  { number, folio }: ChunkRow,
  cause: FolioLostError,
): undefined {
  run.deferred.error ??= new TroubleError('FOLIO_NOT_FOUND', `chunk ${number}: ${cause.message}`, {
    hint: 'foliopipe collect, which waits, asks until poll.lostAfter has passed and decides whether it is lost',
    facts: { run: run.id, chunk: number, folio },
    cause,
  });
  return undefined;
}

type RecheckLostFoliosNeeds = Pick<RunContext, 'id' | 'api' | 'signal' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'attempts' | 'parts' | 'recordFound' | 'recordAdopted'>;
};

/** Whether a chunk of the run was given up because its folio was lost or became known too late. */
export async function hasLostFolios(
  run: Pick<RecheckLostFoliosNeeds, 'id' | 'checkpoint'>,
): Promise<boolean> {
  for await (const _ of chunksGivenUp(run)) return true;
  return false;
}

/**
 * Asks once for each lost folio of the run, and for each one that became known too late. If the service cannot be
 * reached, this is logged and no more folios are asked for.
 * @returns how many chunks are `submitted` again. If there are any, a `done` run is `open` again.
 */
export async function recheckLostFolios(run: RecheckLostFoliosNeeds): Promise<number> {
  const found: GivenUpChunk[] = [];
  try {
    for await (const given of chunksGivenUp(run)) if (await isKnown(run, given.chunk)) found.push(given);
  } catch (error) {
    if (run.signal.aborted) throw run.signal.reason;
    const isTrouble = error instanceof FoliopipeError || isTimeout(error);
    if (!isTrouble) throw error;
    const message = isTimeout(error) ? 'the service does not answer' : error.message;
    run.logger.warn({ run: run.id }, `lost folios of run ${run.id} could not be asked for again: ${message}`);
  }
  for (const { chunk, late } of found) {
    const { number, folio } = chunk;
    if (late === undefined) await run.checkpoint.recordFound(run.id, number);
    else await run.checkpoint.recordAdopted(run.id, number, late, late.at);
    const how = late === undefined ? ' again' : ', whose reply was recorded after the chunk was given up';
    run.logger.info(
      { run: run.id, chunk: number, folio },
      `the service knows folio ${folio} of chunk ${number}${how}: what it holds is merged in`,
    );
  }
  return found.length;
}

/** A chunk without an answer, with the folio that may have it. */
interface GivenUpChunk {
  readonly chunk: ChunkRow;
  /** The reply to its upload, if it was recorded after the chunk was given up as ambiguous. */
  readonly late: (AcceptedReply & { readonly at: number }) | undefined;
}

async function* chunksGivenUp(
  run: Pick<RecheckLostFoliosNeeds, 'id' | 'checkpoint'>,
): AsyncGenerator<GivenUpChunk> {
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['unprocessed'])) {
    if (chunk.cause === 'FOLIO_LOST' && chunk.folio !== null) yield { chunk, late: undefined };
    if (chunk.cause !== 'AMBIGUOUS_HELD') continue;
    const late = await lateReply(run, chunk);
    if (late !== undefined) yield { chunk: { ...chunk, folio: late.folio }, late };
  }
}

async function lateReply(
  run: Pick<RecheckLostFoliosNeeds, 'id' | 'checkpoint'>,
  { number }: ChunkRow,
): Promise<GivenUpChunk['late']> {
  const attempts = await run.checkpoint.attempts(run.id, number);
  const accepted = attempts.findLast(({ state }) => state === 'accepted');
  if (accepted === undefined || accepted.folio === null) return undefined;
  const { folio, serviceRecords, local, endedAt, startedAt } = accepted;
  return { folio, serviceRecords, rehearsal: local === true, at: endedAt ?? startedAt };
}

/** Whether the service knows the folio and, if it is finished, still delivers each part that is not stored yet. */
async function isKnown(run: RecheckLostFoliosNeeds, chunk: ChunkRow): Promise<boolean> {
  const inTime = <T>(ask: (signal: AbortSignal) => Promise<T>) =>
    withTimeLimit(run.signal, RECHECK_TIMEOUT_MS, ask);
  const once = AbortSignal.abort();
  try {
    const report = await inTime((signal) => run.api.track(chunk.folio!, signal, once));
    if (!isComplete(report)) return true;
    const stored = await run.checkpoint.parts(run.id, chunk.number);
    for (const part of listParts(chunk, report)) {
      if (stored.some((one) => isSamePart(one, part))) continue;
      const request = requestFor(chunk, part, 0);
      await inTime((signal) => run.api.download(request, async () => undefined, signal, once));
    }
    return true;
  } catch (error) {
    if (error instanceof FolioLostError) return false;
    throw error;
  }
}

/** A done run waits at most this long for a reply of a service that does not answer. */
const RECHECK_TIMEOUT_MS = 5_000;

function isTimeout(error: unknown): error is DOMException {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
