/**
 * First stage: gives the chunks that still need the service. Chunks with an open folio come first, newly cut ones last.
 * The canary's chunks are sent and checked before the rest is paid for.
 */
import type { Checkpoint, ChunkRow, PickedRecords } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachChunk, isAnswered, unfinishedChunks } from '../../checkpoint/walk-run.js';
import type { Batch } from '../../csv/table.js';
import type { RunContext } from '../../run-context.js';
import { pickRecords } from '../../source/read-records.js';
import {
  firstPosition,
  lastFile,
  leavesOut,
  positionAfter,
  recordsFrom,
  sendableRecordsFrom,
  skipsBlank,
  watchFiles,
} from '../read-source.js';
import { type SaveChunkNeeds, saveChunk } from './chunk-content.js';
import { type CutChunk, createUploadLayout, cutChunks } from './cut-chunks.js';

type ChunkRecordsNeeds = SaveChunkNeeds &
  Pick<RunContext, 'canary' | 'chosen' | 'config' | 'uploads' | 'signal'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'chunk' | 'chunksIn' | 'nextChunk' | 'lastCut' | 'recordAllCut' | 'run'
    >;
  };

/**
 * Cuts a chunk only when the next stage asks for it. A resume continues after the last chunk that was cut. Ends early
 * when uploads are stopped.
 * @throws SourceError when the source has changed since it was checked.
 */
export function chunkRecords(run: ChunkRecordsNeeds): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    yield* unfinishedChunks(run);
    if (run.uploads.stopped) return;
    const row = await run.checkpoint.run(run.id);
    if (row?.chunks === null) yield* cutRest(run);
  };
}

/** Gives only the chunks of the canary that still need the service: the first chunk of the source, or its halves. */
export function canaryChunks(run: ChunkRecordsNeeds): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    if ((await run.checkpoint.lastCut(run.id, 0)) === undefined) {
      for await (const chunk of cutRest(run)) {
        yield chunk;
        return;
      }
    }
    for await (const chunk of chunksOfCanary(run)) {
      if (!isAnswered(chunk) && chunk.state !== 'ambiguous') yield chunk;
    }
  };
}

type CanaryNeeds = Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'chunk' | 'nextChunk'> };

/**
 * The chunks that hold the canary's records, in the order of the source: the chunk that was cut first, or its halves
 * if it was split. Empty if no chunk is cut yet.
 */
export async function* chunksOfCanary(run: CanaryNeeds): AsyncGenerator<ChunkRow> {
  const canary = await run.checkpoint.chunk(run.id, firstNumber);
  if (canary === undefined) return;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
    if (chunk.lastRecord > canary.lastRecord) return;
    yield chunk;
  }
}

/** Whether the canary has passed. Before that, no record after it is cut and no chunk is merged. */
export async function isPastCanary(
  run: CanaryNeeds & { readonly checkpoint: Pick<Checkpoint, 'lastCut' | 'lastStretch'> },
): Promise<boolean> {
  if ((await run.checkpoint.lastStretch(run.id)) !== undefined) return true;
  const canary = await run.checkpoint.chunk(run.id, firstNumber);
  const last = await run.checkpoint.lastCut(run.id, 0);
  return canary !== undefined && last!.lastRecord > canary.lastRecord;
}

/** Whether the canary is cut, and each of its chunks is downloaded, given up or refused. */
export async function isCanaryAnswered(run: CanaryNeeds): Promise<boolean> {
  let isCut = false;
  for await (const chunk of chunksOfCanary(run)) {
    if (!isAnswered(chunk)) return false;
    isCut = true;
  }
  return isCut;
}

/** Chunks are numbered in the order in which they are cut. */
const firstNumber = 1;

/** Gives the chunks that have a folio and are not downloaded yet. */
export function openChunks(
  run: Pick<RunContext, 'id'> & { readonly checkpoint: Pick<Checkpoint, 'chunksIn'> },
): () => AsyncGenerator<ChunkRow> {
  return () => eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
}

/** Starts again after the last saved chunk if the source was touched while it was read. */
async function* cutRest(run: ChunkRecordsNeeds): AsyncGenerator<ChunkRow, void> {
  while (!(yield* cutUntilTouched(run)));
}

/** @returns true at the end of the source, or if uploads are stopped; false if the source was touched. */
async function* cutUntilTouched(run: ChunkRecordsNeeds): AsyncGenerator<ChunkRow, boolean> {
  const layout = createUploadLayout(run.source, run.config.upload);
  const last = await run.checkpoint.lastCut(run.id, 0);
  const limits = {
    ...run.config.chunks,
    canary: last === undefined ? run.canary : 0,
    countsGaps: run.chosen === null && skipsBlank(run.source),
  };
  const isTouched = watchFiles(run);
  const { records, take } = recordsAfter(run, last);
  for await (const cut of cutChunks(records, layout, limits)) {
    run.signal.throwIfAborted();
    if (run.uploads.stopped) return true;
    const saved = await saveChunk(run, cut, take(cut.chunk), isTouched);
    if (saved === undefined) return false;
    yield saved;
  }
  // A file that was touched may have ended early while it was read.
  if (await isTouched(firstPosition(run.source).position, lastFile(run.source))) return false;
  await run.checkpoint.recordAllCut(run.id);
  return true;
}

/** The records after the last chunk that are to be sent. */
interface RecordsToSend {
  readonly records: AsyncIterable<Batch>;
  /** The numbers of the chunk's records, if the run has chosen and leaves out some between them; else null. */
  take(chunk: CutChunk['chunk']): PickedRecords | null;
}

function recordsAfter(run: ChunkRecordsNeeds, last: ChunkRow | undefined): RecordsToSend {
  const from = positionAfter(run.source, last);
  if (run.chosen === null) return { records: sendableRecordsFrom(run, from), take: () => null };
  const picked: number[] = [];
  const remember = async function* (lists: AsyncIterable<readonly number[]>) {
    for await (const list of lists) {
      for (const number of list) picked.push(number);
      yield list;
    }
  };
  return {
    records: pickRecords(recordsFrom(run, from), remember(run.chosen.toSend(last?.lastRecord ?? 0))),
    take: (chunk) => {
      const numbers = picked.splice(0, chunk.records);
      return leavesOut(chunk) ? { round: 0, numbers } : null;
    },
  };
}
