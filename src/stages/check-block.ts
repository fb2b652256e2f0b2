/** Whether what was read from the source again is what a chunk was cut from. */
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import type { RecordBlock } from '../results/record-block.js';
import type { RunContext } from '../run-context.js';
import { sourceChanged } from './read-source.js';

/** @throws SourceError when the records are not those of the chunk. */
export function checkBlock(run: Pick<RunContext, 'source'>, chunk: ChunkRow, block: RecordBlock): void {
  const same =
    block.count === chunk.records &&
    block.numbers[0] === chunk.firstRecord &&
    block.numbers[block.count - 1] === chunk.lastRecord;
  if (same) return;
  const file = run.source.files[chunk.start.file]!.path;
  throw sourceChanged(file, `chunk ${chunk.number} no longer holds the same records`);
}
