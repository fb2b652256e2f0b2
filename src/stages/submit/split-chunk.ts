/** Splits a refused chunk into two halves. Each half has the same bytes as if its records were cut from the source. */
import type { ChunkRow, NewChunk } from '../../checkpoint/checkpoint.js';
import { createUploadLayout, cutChunks } from '../chunk/cut-chunks.js';
import { checkFilesBetween, recordsOfChunk, sourceChanged } from '../read-source.js';
import type { SubmitChunksNeeds } from './submit-needs.js';

/**
 * @param chunk has several records and was certainly not accepted.
 * @returns its halves, `cut`, in the order of the source.
 * @throws SourceError when the source has changed since it was checked.
 */
export async function splitChunk(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<readonly ChunkRow[]> {
  await checkFilesBetween(run.source, chunk.start, chunk.end);
  const [first, second] = await cutHalves(run, chunk);
  if (first === undefined || second === undefined) {
    throw sourceChanged(run.source.files[chunk.start.file]!.path, `chunk ${chunk.number} has lost records`);
  }
  // A kill must leave no file without a row: the old file is removed before the commit, and the files of the halves are
  // written after it. If a kill leaves a half without its file, the file is restored before the upload.
  await run.files.removeChunk(chunk.number);
  const halves = await run.checkpoint.recordSplit(run.id, chunk.number, [first.chunk, second.chunk]);
  run.at('after-split-before-upload');
  for (const [index, { content }] of [first, second].entries()) {
    const { number, sha256 } = halves[index]!;
    await run.files.writeChunk(number, [content], sha256);
  }
  return halves;
}

interface Half {
  readonly chunk: NewChunk;
  readonly content: Uint8Array;
}

async function cutHalves(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<Half[]> {
  const layout = createUploadLayout(run.source, run.config.upload);
  const limits = {
    maxRecords: Math.ceil(chunk.records / 2),
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxSourceBytes: Number.MAX_SAFE_INTEGER,
  };
  const numbers = await run.checkpoint.pickedRecords(run.id, chunk.number);
  const halves: Half[] = [];
  for await (const { chunk: half, content } of cutChunks(recordsOfChunk(run, chunk), layout, limits)) {
    const isInHalf = (record: number) => record >= half.firstRecord && record <= half.lastRecord;
    const picked = numbers === undefined ? null : { round: chunk.round, numbers: numbers.filter(isInHalf) };
    halves.push({ chunk: { ...half, picked }, content: Buffer.from(content) });
  }
  return halves;
}
