/**
 * The content of a chunk: saved in a file when it is cut, and read again as one block. A run that reuses answers keeps its
 * chunk files, because its chunks are few records from a long part of the source. Other runs read the source, which gives
 * all columns.
 */
import type { Checkpoint, ChunkRow, PickedRecords } from '../../checkpoint/checkpoint.js';
import { readHeader } from '../../csv/read-header.js';
import type { ScanOptions } from '../../csv/record-scan.js';
import { scanTable } from '../../csv/scan-records.js';
import type { Table } from '../../csv/table.js';
import type { SentField } from '../../results/column-kinds.js';
import { readKeys } from '../../results/join-by-key.js';
import { fieldOf } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import { isSeekable } from '../../source/read-decoded.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import { giveBack, takeBuffer } from '../../streams/large-buffers.js';
import type { UploadContent } from '../../types.js';
import {
  bytesInSource,
  checkFilesBetween,
  checkSameRecords,
  type FileWatch,
  leavesOut,
  type RecordsOfChunkNeeds,
  recordsOfChunk,
  sourceChanged,
  watchFiles,
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
 * @param maxRecords of each chunk that is cut. If `chunk` has more, it is split.
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

export type ReadChunkNeeds = RecordsOfChunkNeeds & Pick<RunContext, 'files' | 'keepsChunks'>;

/** A chunk with fewer bytes in the source is read into a block. */
const LARGE_BYTES = 16 * 1024 * 1024;

/** Whether a chunk is large, and can be read again without reading what comes before it. */
export function isStreamed(
  { source, keepsChunks }: Pick<RunContext, 'source' | 'keepsChunks'>,
  { round, start, end, bytes }: ChunkRow,
): boolean {
  if (keepsChunks || round > 0) return false;
  const size = start.file === end.file ? end.offset - start.offset : bytes;
  return size > LARGE_BYTES && source.files.slice(start.file, end.file + 1).every(isSeekable);
}

/**
 * The records of a chunk. `sentFields` says which of their fields were sent. The block is valid until the next one is
 * read.
 * @throws SourceError when the source has changed since it was checked.
 */
export async function readChunkBlock(run: ReadChunkNeeds, chunk: ChunkRow): Promise<RecordBlock> {
  if (run.keepsChunks) return readChunkFile(run, chunk);
  const isTouched = watchFiles(run);
  const reader = createBlockReader(recordsOfChunk(run, chunk));
  try {
    const block = await reader.take(chunk.records, { expectedBytes: bytesInSource(chunk) });
    if (await isTouched(chunk.start, chunk.end)) return readChunkBlock(run, chunk);
    checkSameRecords(run, chunk, block);
    return block;
  } finally {
    await reader.close();
  }
}

/**
 * The sent columns, with the indexes of their fields in the records that `readChunkBlock` gives.
 * @throws ConfigError when a configured column is not in the source.
 */
export function sentFields({
  config: { upload },
  source,
  keepsChunks,
}: Pick<RunContext, 'config' | 'source' | 'keepsChunks'>): readonly SentField[] {
  const first = upload.keyColumn === null ? 0 : 1;
  return Object.entries(upload.columns).map(([column, name], at) => ({
    column,
    sourceField: keepsChunks ? first + at : fieldOf(source.columns, name, `upload.columns.${column}`),
  }));
}

/**
 * Frees the buffers of a block from `readChunkBlock`, or of a joined part.
 * @param table must not be used after this call, except the `numbers` of a block.
 */
export function releaseBlock({ bytes, starts, ends }: Table): void {
  for (const buffer of [bytes, starts, ends]) giveBack(buffer);
}

/** Reads a complete content into a buffer of `takeBuffer`. */
export async function readChunkContent(content: UploadContent): Promise<Buffer> {
  const file = takeBuffer(content.bytes);
  let length = 0;
  for await (const piece of content.open()) {
    file.set(piece, length);
    length += piece.length;
  }
  return file;
}

/** The rows of a chunk's file, after its header, and how they are scanned. */
export function rowsOfChunkFile(file: Buffer): { readonly rows: Buffer; readonly options: ScanOptions } {
  const { columns, bytes } = readHeader(file, ',');
  const options = {
    delimiter: ',',
    fields: columns.length,
    maxRecordBytes: Number.MAX_SAFE_INTEGER,
    file: 0,
    base: bytes,
    firstRecord: 1,
  };
  return { rows: file.subarray(bytes), options };
}

async function readChunkFile(run: ReadChunkNeeds, chunk: ChunkRow): Promise<RecordBlock> {
  await restoreChunk(run, chunk);
  const file = await readChunkContent(await run.files.chunkContent(chunk.number));
  const { rows, options } = rowsOfChunkFile(file);
  const table = scanTable(rows, options, chunk.records);
  const picked = await run.checkpoint.pickedRecords(run.id, chunk.number);
  const numbers = picked === undefined ? await numbersIn(run, chunk, table) : Int32Array.from(picked);
  const block = { ...table, numbers };
  checkSameRecords(run, chunk, block);
  return block;
}

/** The numbers of a chunk's records. Reads the source again only if the file does not have them. */
async function numbersIn(
  run: ReadChunkNeeds,
  chunk: ChunkRow,
  file: Table,
): Promise<Int32Array<ArrayBuffer>> {
  return leavesOut(chunk) && run.config.upload.keyColumn !== null
    ? readKeys(file, 0)
    : numbersInSource(run, chunk);
}

/**
 * The numbers of a chunk's records. Reads the source only if some between them are left out.
 * @throws SourceError when the source has changed since it was checked.
 */
export async function numbersInSource(
  run: RecordsOfChunkNeeds,
  chunk: ChunkRow,
): Promise<Int32Array<ArrayBuffer>> {
  const numbers = new Int32Array(chunk.records);
  for (let at = 0; at < numbers.length; at++) numbers[at] = chunk.firstRecord + at;
  if (!leavesOut(chunk)) return numbers;
  let count = 0;
  for await (const { numbers: more } of recordsOfChunk(run, chunk)) {
    if (count + more.length <= numbers.length) numbers.set(more, count);
    count += more.length;
  }
  checkSameRecords(run, chunk, { count, numbers });
  return numbers;
}
