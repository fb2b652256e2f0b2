/** Fourth stage: downloads the parts of finished folios to the disk, a limited number of parts at once. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { FolioLostError, MismatchError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { abortOnEarlyReturn } from '../../streams/abortable.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import { createPermits, type Permits } from '../../streams/permits.js';
import type { StoredPart } from '../../types.js';
import { afterFolioError } from '../track/lost-folios.js';
import {
  checkChunkBalance,
  type FetchTogether,
  fetchTogether,
  isSamePart,
  sizeOfParts,
} from './folio-parts.js';
import { type RefetchPartsNeeds, refetchParts } from './refetch-parts.js';

type DownloadPartsNeeds = RefetchPartsNeeds &
  Pick<RunContext, 'clock' | 'config' | 'controller' | 'deferred' | 'logger' | 'keepsChunks'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'listedParts' | 'recordParts' | 'recordDownloaded' | 'recordUnprocessed' | 'recordUnmerged'
    >;
  };

/**
 * Passes on chunks that are downloaded or given up. Does not pass on a chunk whose parts cannot be fetched.
 * @param until once it is aborted, a single reply that a folio is not known leaves its chunk to a later run.
 */
export function downloadParts(
  run: DownloadPartsNeeds,
  until?: AbortSignal,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const { downloads } = run.config.concurrency;
  const slots = createPermits(downloads);
  const download = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    if (chunk.state !== 'finished') return chunk;
    try {
      // A run that reuses answers keeps its chunk files, see chunk-content.ts. For other runs the file is not needed once
      // the folio is finished. Removed before the commit, so that no kill leaves it behind.
      if (!run.keepsChunks) await run.files.removeChunk(chunk.number);
      const downloaded = await fetchParts(run, chunk, until, slots);
      run.at('after-downloaded-before-merge');
      return downloaded;
    } catch (error) {
      return afterFolioError(run, chunk, error, until);
    }
  };
  return (chunks) =>
    abortOnEarlyReturn(mapConcurrent(chunks, downloads, download, run.controller), run.controller);
}

/**
 * Fetches the parts of a `finished` chunk that are not stored yet, and checks that they balance. If they do not, all
 * parts are fetched once more.
 * @param until once it is aborted, a single reply that the folio or a part is not known is final.
 * @param slots see `FetchTogether`.
 * @returns the chunk, `downloaded`.
 * @throws MismatchError when the second download does not balance either, or fails because the folio is lost. The
 *   stored parts stay.
 * @throws FolioLostError when the service no longer knows the folio.
 */
export async function fetchParts(
  run: DownloadPartsNeeds,
  chunk: ChunkRow,
  until?: AbortSignal,
  slots: Permits = createPermits(run.config.concurrency.downloads),
): Promise<ChunkRow> {
  const stored = await run.checkpoint.parts(run.id, chunk.number);
  const listed = await run.checkpoint.listedParts(run.id, chunk.number);
  const missing = listed.filter((part) => !stored.some((other) => isSamePart(part, other)));
  const store = async (parts: readonly StoredPart[]): Promise<void> => {
    run.at('after-part-file-before-commit');
    await run.checkpoint.recordParts(run.id, chunk.number, parts);
  };
  const fetched = await fetchTogether(run, chunk, missing, {
    held: sizeOfParts(stored),
    slots,
    until,
    store,
  });
  const parts = [...stored, ...fetched];
  try {
    checkChunkBalance(chunk, chunk.counts!, parts);
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    run.logger.warn(
      { chunk: chunk.number, folio: chunk.folio, code: error.code },
      `${error.message}; its parts are fetched once more`,
    );
    return fetchOnceMore(run, chunk, error, { until, slots });
  }
  run.at('after-part-before-downloaded');
  return run.checkpoint.recordDownloaded(run.id, chunk.number, run.clock.now());
}

/** @param unbalanced the error of the stored parts; thrown if the folio is lost. */
async function fetchOnceMore(
  run: DownloadPartsNeeds,
  chunk: ChunkRow,
  unbalanced: MismatchError,
  how: Pick<FetchTogether, 'until' | 'slots'>,
): Promise<ChunkRow> {
  const replacement = await refetchParts(run, chunk, how);
  try {
    await replacement.fetchAll();
    return await replacement.commit();
  } catch (error) {
    await replacement.discard();
    const isLost = error instanceof FolioLostError && how.until?.aborted !== true;
    throw isLost ? unbalanced : error;
  }
}
