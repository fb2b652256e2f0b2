/** Merges chunks: reads the records of each from the source and writes them as rows, with their answers. */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { MAX_CHUNK_BYTES } from '../../config/sections.js';
import { type EchoExports, EchoKernel } from '../../csv/kernel/echo-kernel.js';
import type { RowsExports } from '../../csv/kernel/rows-kernel.js';
import { TableMemory } from '../../csv/kernel/table-memory.js';
import { createEchoComparer } from '../../results/echo-kinds.js';
import { createOutputLayout } from '../../results/output-layout.js';
import { type ChunkRows, createRowWriter } from '../../results/row-writer.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import type { UnprocessedCause } from '../../types.js';
import type { Refetch } from '../download/repair-parts.js';
import { checkSameRecords, type ReadPosition, recordsFrom } from '../read-source.js';
import { openChunkAnswers } from './chunk-answers.js';
import { sentColumns } from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';

export interface ChunkMerger {
  /** The rows of a chunk. Chunks must come in the order of the source, without a gap. */
  merge(chunk: ChunkRow): Promise<ChunkRows>;
  /** The rows of a chunk as UNPROCESSED, whatever its state. */
  unprocessed(chunk: ChunkRow, cause: UnprocessedCause): Promise<ChunkRows>;
  /**
   * The rows of the next records as UNPROCESSED, for the part of the source that is not cut into chunks yet.
   * @param count the most records to give; fewer if they are large.
   * @returns undefined after the last record.
   */
  unprocessedNext(count: number, cause: UnprocessedCause): Promise<ChunkRows | undefined>;
  close(): Promise<void>;
}

/**
 * @param from the position of the first chunk.
 * @param columns the columns that the service adds, in output order.
 * @param refetch fetches a chunk's parts again; without it a damaged part or a failed proof is final.
 */
export async function openChunkMerger(
  run: MergeChunksNeeds,
  from: ReadPosition,
  columns: readonly string[],
  refetch?: Refetch,
): Promise<ChunkMerger> {
  const layout = createOutputLayout(run.source, run.config.output);
  const sent = sentColumns(run.config.upload);
  const sentNames = new Set([...sent.columns, ...(sent.key === null ? [] : [sent.key])]);
  // The results are loaded once: comparing and writing use the same memory.
  const tables = new TableMemory<RowsExports & EchoExports>();
  const rows = createRowWriter({ run: run.id, layout, columns, sentColumns: sentNames }, tables);
  const compare = createEchoComparer(new EchoKernel(tables));
  const answers = await openChunkAnswers(run, { columns, refetch, compare });
  const records = createBlockReader(recordsFrom(run, from));

  const takeBlock = async (chunk: ChunkRow): Promise<RecordBlock> => {
    const block = await records.take(chunk.records);
    checkSameRecords(run, chunk, block);
    return block;
  };

  return {
    unprocessed: async (chunk, cause) => rows.unprocessed(await takeBlock(chunk), cause, chunk.folio),
    unprocessedNext: async (count, cause) => {
      const block = await records.take(count, MAX_CHUNK_BYTES);
      return block.count === 0 ? undefined : rows.unprocessed(block, cause, null);
    },
    merge: async (chunk) => {
      const block = await takeBlock(chunk);
      if (chunk.state === 'unprocessed') return rows.unprocessed(block, chunk.cause!, chunk.folio);
      const found = await answers.forChunk(chunk, block);
      if (found !== undefined) {
        const enriched = rows.enriched(block, found);
        answers.release();
        return enriched;
      }
      if (chunk.state === 'refused') return rows.refused(block, chunk.refusal!);
      return rows.unprocessed(block, 'FOLIO_LOST', chunk.folio);
    },
    close: async () => {
      await answers.close();
      await records.close();
    },
  };
}
