/**
 * Finds the records of a run that are FAILED, by the answers that stand for them: those of closed rounds and of
 * searches in place of those of the source's own chunks. Reads the source once, and joins no chunk without a failure.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder } from '../../checkpoint/walk-run.js';
import { isFailed } from '../../results/answers.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import type { Refetch } from '../download/repair-parts.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { createResultColumns } from '../merge/result-columns.js';
import { checkBlock, firstPosition, recordsFrom } from '../read-source.js';

export type FailedRecordsNeeds = MergeChunksNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'lastMerged'>;
};

/** Some failed records of one chunk. */
export interface FailedRecords {
  /** One of the source's own chunks: `downloaded`, or `refused` where its only record is. */
  readonly chunk: ChunkRow;
  /** All records of the chunk; valid until the next ones are asked for. */
  readonly block: RecordBlock;
  /** Indexes of the failed records in the block; at least one. */
  readonly indexes: readonly number[];
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
  const columns = await fixedColumns(run, refetch);
  const answers = await openChunkAnswers(run, { columns: columns ?? [], refetch });
  const records = createBlockReader(recordsFrom(run, firstPosition(run.source)));
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (chunk.lastRecord <= after || !mayHaveFailed(chunk)) continue;
      await records.skipTo(chunk.firstRecord);
      const block = await records.take(chunk.records);
      checkBlock(run, chunk, block);
      const found = await answers.of(chunk, block);
      if (found === undefined && chunk.state === 'downloaded') continue;
      const indexes = Array.from({ length: block.count }, (_, index) => index).filter(
        (index) => found === undefined || isFailed(found, index),
      );
      if (indexes.length > 0) yield { chunk, block, indexes };
    }
  } finally {
    await answers.close();
    await records.close();
  }
}

/**
 * The columns that the service adds, for a source that is answered; undefined where no record succeeded.
 * @param refetch as `failedRecords` takes it.
 */
export async function fixedColumns(
  run: FailedRecordsNeeds,
  refetch?: Refetch,
): Promise<readonly string[] | undefined> {
  const merged = await run.checkpoint.lastMerged(run.id);
  return createResultColumns(run, merged?.lastRecord ?? 0, refetch).find(true);
}

/** Where the rows are written, their counts decide, for these include later answers. */
function mayHaveFailed({ state, counts, merged }: ChunkRow): boolean {
  if (state !== 'downloaded' && state !== 'refused') return false;
  return (merged ?? counts!).failed > 0;
}
