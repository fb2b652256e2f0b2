/**
 * Walks over the chunks and searches of a run, in pages or one by one, so that memory does not grow with their number.
 * Also says whether a run or a chunk is finished.
 */
import type { CheckpointReader, ChunkRow, ChunkState, RunState, Search, SingleSearch } from './checkpoint.js';

const PAGE_SIZE = 500;

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
  let after = 0;
  for (;;) {
    const page = await checkpoint.chunksIn(run, states, after, pageSize);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.number;
  }
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
  let after = firstRecord - 1;
  for (;;) {
    const page = await checkpoint.searches(run, after, PAGE_SIZE);
    for (const search of page) {
      if (search.record > lastRecord) return;
      yield search;
    }
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)!.record;
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
  let after = '';
  for (;;) {
    const page = await checkpoint.singleSearches(pipeline, after, PAGE_SIZE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
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
