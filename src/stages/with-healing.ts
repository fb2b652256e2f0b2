/** Uses a chunk's parts; where they are damaged or prove wrong they are fetched once more (law 9). */
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import { FolioLostError, UntrustedError } from '../errors/index.js';
import { DamagedPartError } from '../files/run-files.js';
import { type GiveUpNeeds, giveUpLost } from './give-up-lost.js';
import { namedByChunk } from './named-by-chunk.js';

/** Fetches all parts of a chunk anew. */
export type Refetch = (chunk: ChunkRow) => Promise<unknown>;

/**
 * @param refetch without it a damaged part or a failed proof is final.
 * @returns undefined when the service has forgotten the folio meanwhile: the chunk is UNPROCESSED then.
 * @throws UntrustedError, with the chunk in it, when the parts fetched anew are no better.
 */
export async function withHealing<T>(
  run: GiveUpNeeds,
  chunk: ChunkRow,
  refetch: Refetch | undefined,
  use: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await use();
  } catch (error) {
    const mayHeal = error instanceof DamagedPartError || error instanceof UntrustedError;
    if (!mayHeal || refetch === undefined) throw namedByChunk(chunk, error);
    run.logger.warn(
      { chunk: chunk.number, folio: chunk.folio },
      `chunk ${chunk.number}: ${error.message}; its parts are fetched once more`,
    );
  }
  try {
    await refetch(chunk);
    return await use();
  } catch (error) {
    if (!(error instanceof FolioLostError)) throw namedByChunk(chunk, error);
    await giveUpLost(run, chunk, error);
    return undefined;
  }
}
