/** Saves a newly cut chunk: its row and its file. Writes the file again if it is missing or damaged. */
import type { Checkpoint, ChunkRow, PickedRecords } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import {
  checkFilesBetween,
  type FileWatch,
  type RecordsOfChunkNeeds,
  recordsOfChunk,
  sourceChanged,
} from '../read-source.js';
import { type CutChunk, createUploadLayout, cutChunks } from './cut-chunks.js';

export type SaveChunkNeeds = Pick<RunContext, 'id' | 'source' | 'files' | 'clock' | 'signal' | 'at'> & {
  readonly checkpoint: Pick<Checkpoint, 'recordCut'>;
};

/**
 * Records the row first, because the row gives the chunk its number, and then writes the file under that number. A kill
 * in between leaves a row without a file; `restoreChunk` writes the file before the upload.
 * @param picked the numbers of the chunk's records; null if they are simply the next records of the source.
 * @param isTouched a watch that began before the records were read.
 * @returns undefined, and saves nothing, if the source was touched while the chunk was cut: it must be read again.
 * @throws SourceError when the source has changed since it was checked.
 */
export async function saveChunk(
  run: SaveChunkNeeds,
  { chunk, content }: CutChunk,
  picked: PickedRecords | null,
  isTouched: FileWatch,
): Promise<ChunkRow | undefined> {
  if (await isTouched(chunk.start, chunk.end)) return undefined;
  const saved = await run.checkpoint.recordCut(run.id, { ...chunk, picked }, run.clock.now());
  run.at('after-cut-before-chunk-file');
  await run.files.writeChunk(saved.number, [content], saved.sha256);
  run.at('after-cut-before-intent');
  return saved;
}

/**
 * Makes sure that the chunk's file has the bytes that were cut. Cuts the chunk again if the file is missing or differs.
 * @throws SourceError when the source has changed, so that the cut gives other bytes.
 */
export async function restoreChunk(
  run: RecordsOfChunkNeeds & Pick<RunContext, 'files'>,
  chunk: ChunkRow,
): Promise<void> {
  if (await run.files.hasChunk(chunk.number, chunk.sha256)) return;
  await checkFilesBetween(run, chunk.start, chunk.end);
  for await (const { chunk: again, content } of cutAgain(run, chunk, chunk.records)) {
    if (again.sha256 !== chunk.sha256) break;
    await run.files.writeChunk(chunk.number, [content], chunk.sha256);
    return;
  }
  throw sourceChanged(
    run.source.files[chunk.start.file]!.path,
    `chunk ${chunk.number} is no longer the same`,
  );
}

/**
 * Cuts the records of a chunk again, which gives the same bytes.
 * @param maxRecords of each chunk that is cut: fewer than the chunk has split it.
 */
export function cutAgain(
  run: RecordsOfChunkNeeds,
  chunk: ChunkRow,
  maxRecords: number,
): AsyncGenerator<CutChunk> {
  const layout = createUploadLayout(run.source, run.config.upload);
  const noLimit = Number.MAX_SAFE_INTEGER;
  const limits = { maxRecords, maxBytes: noLimit, maxSourceBytes: noLimit };
  return cutChunks(recordsOfChunk(run, chunk), layout, limits);
}
