/**
 * The records of a run that have failed, as things stand: with the answers of settled rounds and of searches laid
 * over those of the source's own chunks. One pass over the source; chunks without a failed record are not joined.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { isFailed } from '../../results/answers.js';
import type { RunContext } from '../../run-context.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import type { Refetch } from '../download/with-healing.js';
import { type ChunkAnswersNeeds, openChunkAnswers } from '../merge/chunk-answers.js';
import { createResultColumns, type ResultColumnsNeeds } from '../merge/result-columns.js';
import { checkBlock, firstPosition, recordsFrom } from '../read-source.js';

export type FailedRecordsNeeds = ChunkAnswersNeeds &
  ResultColumnsNeeds &
  Pick<RunContext, 'signal'> & {
    readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'lastMerged' | 'recordUnmerged'>;
  };

/** Some failed records of one chunk. */
export interface FailedRecords {
  /** The source's own chunk: `downloaded`, or `refused` where its only record is. */
  readonly chunk: ChunkRow;
  /** All records of the chunk; valid until the next are asked for. */
  readonly block: RecordBlock;
  /** Places in the block of those that have failed; at least one. */
  readonly places: readonly number[];
}

/**
 * In the order of the source, which must be cut whole and answered.
 * @param after only chunks that end behind this record.
 * @param refetch fetches a chunk's parts anew; without it a damaged part is final.
 * @throws UntrustedError, OutageError as the merge does.
 */
export async function* failedRecords(
  run: FailedRecordsNeeds,
  after: number,
  refetch?: Refetch,
): AsyncGenerator<FailedRecords> {
  const merged = await run.checkpoint.lastMerged(run.id);
  const columns = await createResultColumns(run, merged?.lastRecord ?? 0, refetch).settle(true);
  const answers = await openChunkAnswers(run, { columns: columns ?? [], refetch });
  const records = createBlockReader(recordsFrom(run, firstPosition(run.source)));
  try {
    let chunk = await run.checkpoint.nextChunk(run.id, 0, 0);
    for (; chunk !== undefined; chunk = await run.checkpoint.nextChunk(run.id, 0, chunk.lastRecord)) {
      if (chunk.lastRecord <= after || !mayHaveFailed(chunk)) continue;
      await records.skipTo(chunk.firstRecord);
      const block = await records.take(chunk.records);
      checkBlock(run, chunk, block);
      const standing = await answers.of(chunk, block);
      if (standing === undefined && chunk.state === 'downloaded') continue;
      const places = Array.from({ length: block.count }, (_, place) => place).filter(
        (place) => standing === undefined || isFailed(standing, place),
      );
      if (places.length > 0) yield { chunk, block, places };
    }
  } finally {
    await answers.close();
    await records.close();
  }
}

/** By the counts of the rows, where they are written, for these know of later answers. */
function mayHaveFailed({ state, counts, merged }: ChunkRow): boolean {
  if (state !== 'downloaded' && state !== 'refused') return false;
  return (merged ?? counts!).failed > 0;
}
