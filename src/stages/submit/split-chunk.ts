/** Cuts a chunk that the service refuses in two, each what a cut of the source would have made of its records. */
import type { Checkpoint, ChunkRow, NewChunk } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import { createUploadLayout, cutChunks } from '../chunk/cut-chunks.js';
import { checkFilesBetween, type RecordsOfNeeds, recordsOf, sourceChanged } from '../read-source.js';

export type SplitChunkNeeds = RecordsOfNeeds &
  Pick<RunContext, 'files' | 'at'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordSplit'>;
  };

/**
 * @param chunk of several records, certainly not accepted.
 * @returns its halves, `cut`, in the source's order.
 * @throws SourceError when the source is no longer the one that was checked.
 */
export async function splitChunk(run: SplitChunkNeeds, chunk: ChunkRow): Promise<readonly ChunkRow[]> {
  await checkFilesBetween(run.source, chunk.start, chunk.end);
  const [first, second] = await cutHalves(run, chunk);
  if (first === undefined || second === undefined) {
    throw sourceChanged(run.source.files[chunk.start.file]!.path, `chunk ${chunk.number} has lost records`);
  }
  // Files that no commit speaks of would be left by a kill: ours goes before it, those of the halves come after,
  // and what is missing then is restored.
  await run.files.removeChunk(chunk.number);
  const halves = await run.checkpoint.recordSplit(run.id, chunk.number, [first.chunk, second.chunk]);
  run.at('after-split-before-upload');
  for (const [at, { content }] of [first, second].entries()) {
    const { number, sha256 } = halves[at]!;
    await run.files.writeChunk(number, [content], sha256);
  }
  return halves;
}

interface Half {
  readonly chunk: NewChunk;
  readonly content: Uint8Array;
}

async function cutHalves(run: SplitChunkNeeds, chunk: ChunkRow): Promise<Half[]> {
  const layout = createUploadLayout(run.source, run.config.upload);
  const limits = {
    maxRecords: Math.ceil(chunk.records / 2),
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxSourceBytes: Number.MAX_SAFE_INTEGER,
  };
  const numbers = await run.checkpoint.pickedRecords(run.id, chunk.number);
  const halves: Half[] = [];
  for await (const { chunk: half, content } of cutChunks(recordsOf(run, chunk), layout, limits)) {
    const isHere = (record: number) => record >= half.firstRecord && record <= half.lastRecord;
    const picked = numbers === undefined ? null : { round: chunk.round, numbers: numbers.filter(isHere) };
    halves.push({ chunk: { ...half, picked }, content: Buffer.from(content) });
  }
  return halves;
}
