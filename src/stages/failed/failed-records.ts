/**
 * Finds the records of a run that are FAILED, after the answers of closed rounds and of searches have replaced those of
 * the source's chunks. Reads the source once, and joins only chunks with a failed record.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder } from '../../checkpoint/walk-run.js';
import { isFailed } from '../../results/answers.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import { readChunkBlock } from '../chunk/read-chunk.js';
import type { Refetch } from '../download/repair-parts.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { createResultColumns } from '../merge/result-columns.js';
import { checkSameRecords, firstPosition, sendableRecordsFrom } from '../read-source.js';

export type FailedRecordsNeeds = MergeChunksNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'lastStretch'>;
};

/** Some failed records of one chunk. */
export interface FailedRecords {
  /** A chunk of the source: `downloaded`, or `refused` with a single record. */
  readonly chunk: ChunkRow;
  /** All records of the chunk; valid until the next item is asked for. */
  readonly block: RecordBlock;
  /** Indexes of the failed records in the block; at least one. */
  readonly indexes: readonly number[];
}

/**
 * Gives failed records in the order of the source. The source must be cut to its end and answered.
 * @param after only chunks that end after this record.
 * @param refetch fetches a chunk's parts again; without it a damaged part is final.
 * @throws UntrustedError, OutageError, see `mergeResults`.
 */
export async function* failedRecords(
  run: FailedRecordsNeeds,
  after: number,
  refetch?: Refetch,
): AsyncGenerator<FailedRecords> {
  const columns = await fixedColumns(run, refetch);
  const answers = await openChunkAnswers(run, { columns: columns ?? [], refetch });
  const records = createBlockReader(sendableRecordsFrom(run, firstPosition(run.source)));
  const nextRecords = async (chunk: ChunkRow): Promise<RecordBlock> => {
    await records.skipTo(chunk.firstRecord);
    const block = await records.take(chunk.records);
    checkSameRecords(run, chunk, block);
    return block;
  };
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (chunk.lastRecord <= after || !mayHaveFailed(chunk)) continue;
      const block = run.keepsChunks ? await readChunkBlock(run, chunk) : await nextRecords(chunk);
      const found = await answers.forChunk(chunk, block);
      const indexes = Array.from({ length: block.count }, (_, index) => index).filter((index) =>
        isFailed(found, index),
      );
      answers.release(found);
      if (indexes.length > 0) yield { chunk, block, indexes };
    }
  } finally {
    await answers.close();
    await records.close();
  }
}

/**
 * The columns that the service adds, for a source that is answered; undefined if no record succeeded.
 * @param refetch see `failedRecords`.
 */
export async function fixedColumns(
  run: FailedRecordsNeeds,
  refetch?: Refetch,
): Promise<readonly string[] | undefined> {
  const merged = await run.checkpoint.lastStretch(run.id);
  return createResultColumns(run, merged?.lastRecord ?? 0, refetch).find(true);
}

/** Whether any record of a chunk may have failed. */
export function mayHaveFailed({ state, counts }: ChunkRow): boolean {
  if (state !== 'downloaded' && state !== 'refused') return false;
  return counts!.failed > 0;
}
