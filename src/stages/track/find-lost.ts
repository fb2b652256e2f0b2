/**
 * Asks once more for the folios of a run that were given up as lost: a GET costs nothing, and what they hold is paid
 * for. A chunk whose folio can be had again goes back to the open ones.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { FolioLostError, FoliopipeError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { requestFor } from '../download/fetch-part.js';
import { isComplete, listParts } from './lost-folios.js';

export type FindLostNeeds = Pick<RunContext, 'id' | 'api' | 'signal' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'parts' | 'recordFound'>;
};

/** Whether a chunk of the run has a folio that was given up. */
export async function hasLost(run: Pick<FindLostNeeds, 'id' | 'checkpoint'>): Promise<boolean> {
  for await (const _ of lostChunks(run)) return true;
  return false;
}

/**
 * Each folio is asked for once. Where the service cannot be asked, that is told, and no more are asked for.
 * @returns how many chunks are `submitted` again; a `done` run is `open` then.
 */
export async function findLost(run: FindLostNeeds): Promise<number> {
  const found: ChunkRow[] = [];
  try {
    for await (const chunk of lostChunks(run)) if (await isThere(run, chunk)) found.push(chunk);
  } catch (error) {
    if (run.signal.aborted) throw run.signal.reason;
    const isTrouble = error instanceof FoliopipeError || isTimeout(error);
    if (!isTrouble) throw error;
    const message = isTimeout(error) ? 'the service does not answer' : error.message;
    run.logger.warn({ run: run.id }, `lost folios of run ${run.id} could not be asked for again: ${message}`);
  }
  for (const { number, folio } of found) {
    await run.checkpoint.recordFound(run.id, number);
    run.logger.info(
      { run: run.id, chunk: number, folio },
      `the service knows folio ${folio} of chunk ${number} again: what it holds is merged in`,
    );
  }
  return found.length;
}

async function* lostChunks(run: Pick<FindLostNeeds, 'id' | 'checkpoint'>): AsyncGenerator<ChunkRow> {
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['unprocessed'])) {
    if (chunk.cause === 'FOLIO_LOST' && chunk.folio !== null) yield chunk;
  }
}

/** Whether the service knows the folio and, where it is finished, still gives out each part that is not stored. */
async function isThere(run: FindLostNeeds, chunk: ChunkRow): Promise<boolean> {
  const signal = AbortSignal.any([run.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const once = AbortSignal.abort();
  try {
    const report = await run.api.track(chunk.folio!, signal, once);
    if (!isComplete(report)) return true;
    const stored = await run.checkpoint.parts(run.id, chunk.number);
    for (const part of listParts(report)) {
      if (stored.some((one) => one.part === part.part && one.fileStatus === part.fileStatus)) continue;
      await run.api.download(requestFor(chunk, part), async () => undefined, signal, once);
    }
    return true;
  } catch (error) {
    if (error instanceof FolioLostError) return false;
    throw error;
  }
}

/** A run that is done waits no longer than this for a service that does not answer. */
const PATIENCE_MS = 5_000;

function isTimeout(error: unknown): error is DOMException {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
