/** Walks over chunks in pages, so that memory does not grow with their number. */
import type { CheckpointReader, ChunkRow, ChunkState, Search, Upload } from './checkpoint.js';

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

// Walks over searches in pages, so that memory does not grow with their number.

/** Searches of a run for the records from one to another, by record; dropped ones too. */
export async function* eachSearch(
  checkpoint: Pick<CheckpointReader, 'searches'>,
  run: string,
  firstRecord = 1,
  lastRecord = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<Search> {
  let after = firstRecord - 1;
  for (;;) {
    const page = await checkpoint.searches(run, after, pageSize);
    for (const search of page) {
      if (search.record > lastRecord) return;
      yield search;
    }
    if (page.length < pageSize) return;
    after = page.at(-1)!.record;
  }
}

const pageSize = 500;

// The attempts of one chunk, out of the page of uploads that begins with it.

/** Every attempt to upload the chunk, oldest first; empty before its first one. */
export async function attemptsOf(
  checkpoint: Pick<CheckpointReader, 'uploads'>,
  run: string,
  chunk: number,
): Promise<readonly Upload[]> {
  const page = await checkpoint.uploads(run, chunk - 1, 1);
  return page.filter((upload) => upload.chunk === chunk);
}

/** Whether nothing more comes for a chunk: its results are here, or it was given up or refused. */
export function isAnswered({ state }: Pick<ChunkRow, 'state'>): boolean {
  return state === 'downloaded' || state === 'unprocessed' || state === 'refused';
}
