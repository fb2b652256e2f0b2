/** Walks over chunks in pages, so that memory does not grow with their number. */
import type { CheckpointReader, ChunkRow, ChunkState } from './checkpoint.js';

/**
 * Chunks that are in one of the states when their page is read, by number.
 * @param pageSize fewer where the first ones are enough.
 */
export async function* eachChunk(
  checkpoint: Pick<CheckpointReader, 'chunksIn'>,
  run: string,
  states: readonly ChunkState[],
  pageSize = 500,
): AsyncGenerator<ChunkRow> {
  let after = 0;
  for (;;) {
    const page = await checkpoint.chunksIn(run, states, after, pageSize);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.number;
  }
}
