/**
 * Walks over the chunks and searches of a run, in pages or one by one, so that memory does not grow with their number.
 * Also says whether a run or a chunk is finished.
 */
import type { CheckpointReader, ChunkRow, ChunkState, RunState, Search, SingleSearch } from './checkpoint.js';

const PAGE_SIZE = 500;

/**
 * Reads rows page by page, until a page is not full.
 * @param after the key before the first row.
 * @param read reads at most `size` rows, or rows of as many chunks, with keys above a key, ordered by it.
 */
export async function* pagesOf<Row, Key>(
  after: Key,
  keyOf: (row: Row) => Key,
  read: (after: Key, size: number) => Promise<readonly Row[]>,
  size = PAGE_SIZE,
): AsyncGenerator<readonly Row[]> {
  for (let page = await read(after, size); page.length > 0; page = await read(keyOf(page.at(-1)!), size)) {
    yield page;
    if (page.length < size) return;
  }
}

/**
 * The chunks of a round in the order of the source, without split ones. Each chunk is read when it is asked for, so
 * chunks that are cut or split meanwhile are seen.
 * @param round 0: the source's own chunks.
 * @param afterRecord only chunks that begin after this record.
 */
export async function* chunksInOrder(
  checkpoint: Pick<CheckpointReader, 'nextChunk'>,
  run: string,
  round = 0,
  afterRecord = 0,
): AsyncGenerator<ChunkRow> {
  let chunk = await checkpoint.nextChunk(run, round, afterRecord);
  while (chunk !== undefined) {
    yield chunk;
    chunk = await checkpoint.nextChunk(run, round, chunk.lastRecord);
  }
}

/**
 * The chunks of all rounds that are in one of the states when their page is read, ordered by number.
 * @param pageSize a smaller one reads less if only the first chunks are needed.
 */
export async function* eachChunk(
  checkpoint: Pick<CheckpointReader, 'chunksIn'>,
  run: string,
  states: readonly ChunkState[],
  pageSize = PAGE_SIZE,
): AsyncGenerator<ChunkRow> {
  const read = (after: number, limit: number) => checkpoint.chunksIn(run, states, after, limit);
  for await (const page of pagesOf(0, ({ number }) => number, read, pageSize)) yield* page;
}

/**
 * The existing chunks that still need the service, of the source and of all rounds. Chunks with an open folio come
 * first. Ends early when uploads are stopped.
 */
export async function* unfinishedChunks(run: {
  readonly id: string;
  readonly uploads: { readonly stopped: boolean };
  readonly checkpoint: Pick<CheckpointReader, 'chunksIn'>;
}): AsyncGenerator<ChunkRow> {
  yield* eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['cut'])) {
    if (run.uploads.stopped) return;
    yield chunk;
  }
}

/** The searches of a run for a range of records, ordered by record, including dropped ones. */
export async function* eachSearch(
  checkpoint: Pick<CheckpointReader, 'searches'>,
  run: string,
  firstRecord = 1,
  lastRecord = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<Search> {
  const read = (after: number, limit: number) => checkpoint.searches(run, after, limit);
  for await (const page of pagesOf(firstRecord - 1, ({ record }) => record, read)) {
    for (const search of page) {
      if (search.record > lastRecord) return;
      yield search;
    }
  }
}

/** Whether a chunk needs no more answer: its results are here, or it was given up or refused. */
export function isAnswered({ state }: Pick<ChunkRow, 'state'>): boolean {
  return state === 'downloaded' || state === 'unprocessed' || state === 'refused';
}

/** The searches that belong to no run, of one pipeline or of all, ordered by time, including dropped ones. */
export async function* eachSingleSearch(
  checkpoint: Pick<CheckpointReader, 'singleSearches'>,
  pipeline: string | undefined,
): AsyncGenerator<SingleSearch> {
  const read = (after: string, limit: number) => checkpoint.singleSearches(pipeline, after, limit);
  for await (const page of pagesOf('', ({ id }) => id, read)) yield* page;
}

/** Whether the run is open or is being published: `enrich` continues it. False if no state is known. */
export function isUnfinished({ state }: { readonly state: RunState | null | undefined }): boolean {
  return state === 'open' || state === 'publishing';
}

/**
 * Whether the run is `done` or `withheld`: every record is answered, and nothing more is sent unless it is opened
 * again.
 */
export function isCompleted({ state }: { readonly state: RunState | null | undefined }): boolean {
  return state === 'done' || state === 'withheld';
}
