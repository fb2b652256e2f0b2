/** Keeps a chunk that was just cut: its file first, then its row, so that no row is without what it stands for. */
import type { Checkpoint, ChunkRow, PickedRecords } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';
import type { CutChunk } from './cut-chunks.js';
import { checkSourceStamp } from './read-source.js';

export type KeepChunkNeeds = Pick<RunContext, 'id' | 'source' | 'files' | 'chunkNumbers' | 'at'> & {
  readonly checkpoint: Pick<Checkpoint, 'recordCut'>;
};

/**
 * @param picked the chunk's records, where it is not simply the source's next ones.
 * @throws SourceError when the source is no longer the one that was checked.
 */
export async function keepChunk(
  run: KeepChunkNeeds,
  { chunk, content }: CutChunk,
  picked: PickedRecords | null,
): Promise<ChunkRow> {
  await checkSourceStamp(run.source, chunk.start, chunk.end);
  const number = run.chunkNumbers.next();
  await run.files.writeChunk(number, content, chunk.sha256);
  run.at('after-chunk-file-before-commit');
  const kept = await run.checkpoint.recordCut(run.id, { ...chunk, number, picked });
  run.at('after-cut-before-intent');
  return kept;
}
