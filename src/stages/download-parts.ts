/** Fourth stage: fetches the parts of finished folios to the disk, a bounded number of chunks at once. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { FolioLostError, OutageError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';
import { abortWhenLeft } from '../streams/abort-when-left.js';
import { mapConcurrent } from '../streams/map-concurrent.js';
import { type FetchPartsNeeds, fetchParts } from './fetch-parts.js';
import { giveUpLost } from './give-up-lost.js';
import { leaveForLater } from './leave-for-later.js';

export type DownloadPartsNeeds = FetchPartsNeeds &
  Pick<RunContext, 'config' | 'controller' | 'setbacks'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordUnprocessed' | 'recordUnmerged'>;
  };

/**
 * Passes on chunks that are downloaded, and those given up.
 * @param until once aborted, a single answer that a folio is not known leaves its chunk for later.
 */
export function downloadParts(
  run: DownloadPartsNeeds,
  until?: AbortSignal,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const download = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    if (chunk.state !== 'finished') return chunk;
    try {
      // Not needed once the folio is finished, and gone before the commit that ends the chunk: no kill leaves it.
      await run.files.removeChunk(chunk.number);
      const downloaded = await fetchParts(run, chunk, until);
      run.at('after-downloaded-before-merge');
      return downloaded;
    } catch (error) {
      if (error instanceof OutageError) {
        run.setbacks.first ??= error;
        return undefined;
      }
      if (!(error instanceof FolioLostError)) throw error;
      if (until?.aborted) return leaveForLater(run, chunk, error);
      return giveUpLost(run, chunk, error);
    }
  };
  const { downloads } = run.config.concurrency;
  return (chunks) =>
    abortWhenLeft(mapConcurrent(chunks, downloads, download, run.controller), run.controller);
}
