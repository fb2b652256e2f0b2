/**
 * Merges the source stretch by stretch: reads the records of each from the source and writes them as rows, with their
 * answers. In a run that sends every record, a stretch is a chunk, or a part of a large one. In a run that reuses answers
 * only its size bounds a stretch, because a chunk may hold few records of a long part of the source.
 */

import { hideToken } from '../../api/service-text.js';
import type { ChunkRow, Stretch } from '../../checkpoint/checkpoint.js';
import { type EchoExports, EchoKernel } from '../../csv/kernel/echo-kernel.js';
import type { MatchExports } from '../../csv/kernel/match-kernel.js';
import type { RowsExports } from '../../csv/kernel/rows-kernel.js';
import { TableMemory } from '../../csv/kernel/table-memory.js';
import { hasGaps } from '../../csv/table.js';
import { createEchoComparer } from '../../results/compare-echoes.js';
import { type ColumnChange, createOutputLayout } from '../../results/output-layout.js';
import { createRowWriter, type RowWriter } from '../../results/row-writer.js';
import { showNames } from '../../text.js';
import type { UnprocessedCause } from '../../types.js';
import { firstPosition, openSourceBlocks, type ReadPosition } from '../read-source.js';
import { openChosenStretches } from './chosen-stretches.js';
import { type ChunkAnswers, openChunkAnswers } from './chunk-answers.js';
import { openDoubleAnswers } from './double-answers.js';
import { uploadedColumns } from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { type AnsweredBlock, type AnsweredBlocks, wholeChunks } from './whole-chunks.js';

/**
 * The rows of one whole stretch. When the service has added columns under `result.onChange: add`, the stretches begin
 * again at the first record, with more columns.
 */
export interface MergedStretch extends Omit<Stretch, 'workEnd' | 'sha256'> {
  /** The stage that writes the rows gives this buffer back. */
  readonly bytes: Buffer;
  /** The columns that the service adds, in output order; the header of the output names them. */
  readonly columns: readonly string[];
  /** The numbers of its records; left out if they are all from the first to the last. */
  readonly numbers?: Int32Array;
}

export interface StretchMerger {
  /**
   * The next stretch.
   * @param upTo chunks with records up to this one are answered.
   * @returns undefined if the next stretch is not answered yet, or at the end of the source.
   */
  next(upTo: number): Promise<MergedStretch | undefined>;
  close(): Promise<void>;
}

/**
 * @param from the position of the first stretch.
 * @param columns the columns that the service adds, in output order.
 * @param unanswered the cause for records without an answer. Without it they end the merge.
 */
export function openStretchMerger(
  run: MergeChunksNeeds,
  from: ReadPosition,
  columns: readonly string[],
  unanswered?: UnprocessedCause,
): StretchMerger {
  let merger: ColumnsMerger | undefined;
  let all = columns;
  return {
    next: async (upTo) => {
      for (;;) {
        merger ??= await openWithColumns(
          run,
          all === columns ? from : firstPosition(run.source),
          all,
          unanswered,
        );
        const stretch = await merger.next(upTo);
        const { added, close } = merger;
        if (added.size === 0) return stretch;
        all = [...all, ...added];
        // The warning about the new columns also says that earlier results lack them.
        for (const column of added) run.join.lacking.add(column);
        merger = undefined;
        await close();
      }
    },
    close: async () => merger?.close(),
  };
}

interface ColumnsMerger extends StretchMerger {
  /** Further columns in the last stretch. It and all stretches before it must be written with them. */
  readonly added: ReadonlySet<string>;
}

async function openWithColumns(
  run: MergeChunksNeeds,
  from: ReadPosition,
  columns: readonly string[],
  unanswered: UnprocessedCause | undefined,
): Promise<ColumnsMerger> {
  // The results are loaded once: comparing and writing use the same memory.
  const tables = new TableMemory<RowsExports & EchoExports & MatchExports>();
  const rows = openRows(run, columns, tables);
  const compare = createEchoComparer(new EchoKernel(tables));
  const added = new Set<string>();
  const onChange = ({ number }: ChunkRow, { missing, unknown }: ColumnChange) => {
    for (const column of unknown) added.add(column);
    warnMissing(run, number, missing);
  };
  const answers = await openChunkAnswers(run, { columns, compare, tables, onChange });
  const blocks = await openBlocks(run, from, columns, answers, unanswered);

  return {
    added,
    next: async (upTo) => {
      const next = await blocks.next(upTo);
      const stretch = next && added.size === 0 ? writeStretch(rows, next, columns) : undefined;
      if (next !== undefined) blocks.release();
      return stretch;
    },
    close: async () => {
      await blocks.close();
      await answers.close();
      tables.release();
    },
  };
}

function openRows(
  run: MergeChunksNeeds,
  columns: readonly string[],
  tables: TableMemory<RowsExports>,
): RowWriter {
  const { service, upload, output } = run.config;
  const options = {
    run: run.id,
    layout: createOutputLayout(run.source, output),
    columns,
    sentColumns: uploadedColumns(upload),
    // The row keeps the text of the service. Counted reasons are shown and posted, so the token is hidden in them.
    showReason: hideToken(service.token),
  };
  return createRowWriter(options, tables);
}

/** The records from a position on, in the blocks in which they are merged, with their answers. */
async function openBlocks(
  run: MergeChunksNeeds,
  from: ReadPosition,
  columns: readonly string[],
  answers: ChunkAnswers,
  unanswered: UnprocessedCause | undefined,
): Promise<AnsweredBlocks> {
  const { chosen } = run;
  const hasDoubles = ((await run.checkpoint.run(run.id))!.choice?.duplicates ?? 0) > 0;
  const start = hasDoubles ? firstPosition(run.source) : from;
  const records = openSourceBlocks(run, start);
  const blocks =
    chosen === null
      ? wholeChunks(run, start, records, answers, unanswered)
      : openChosenStretches({ ...run, chosen }, start, records, answers, {
          columns,
          unanswered,
          doubles: hasDoubles ? await openDoubleAnswers({ ...run, chosen }, columns) : undefined,
        });
  /** Whether blocks whose rows are written already come first: later doubles need their answers. */
  let beginsEarlier = hasDoubles;
  return {
    ...blocks,
    next: async (upTo) => {
      while (beginsEarlier) {
        if ((await blocks.next(from.record - 1)) === undefined) beginsEarlier = false;
        else blocks.release();
      }
      return blocks.next(upTo);
    },
    close: async () => {
      await blocks.close();
      await records.close();
    },
  };
}

function writeStretch(
  rows: RowWriter,
  { block, answers }: AnsweredBlock,
  columns: readonly string[],
): MergedStretch {
  const { bytes, counts, reasons } = rows.write(block, answers);
  const numbers = hasGaps(block, 0, block.count) ? block.numbers.slice(0, block.count) : undefined;
  return {
    firstRecord: block.numbers[0]!,
    lastRecord: block.numbers[block.count - 1]!,
    records: block.count,
    end: block.end!,
    counts,
    ...(reasons && { reasons }),
    bytes,
    columns,
    ...(numbers && { numbers }),
  };
}

/** Warns once of each column that the results lack. */
function warnMissing(run: MergeChunksNeeds, chunk: number, missing: readonly string[]): void {
  const columns = missing.filter((column) => !run.join.lacking.has(column));
  if (columns.length === 0) return;
  for (const column of columns) run.join.lacking.add(column);
  run.logger.warn(
    { run: run.id, chunk, columns },
    `chunk ${chunk}: the service's results lack ${showNames(columns)}; where a result lacks a column, it is empty`,
  );
}
