/** Merges one chunk: its records out of the source, its parts off the disk, joined, proven and written as rows. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { joinResults } from '../results/join-results.js';
import { checkJoinWay, joinWayOf } from '../results/join-way.js';
import { createOutputLayout, fieldOf } from '../results/output-layout.js';
import { readPartTable } from '../results/part-table.js';
import type { BlockReader, RecordBlock } from '../results/record-block.js';
import { checkAddedColumns } from '../results/result-columns.js';
import { createRowWriter, type Enriched } from '../results/write-enriched.js';
import type { RunContext } from '../run-context.js';
import type { JoinWay, UnprocessedCause } from '../types.js';
import type { GiveUpNeeds } from './give-up-lost.js';
import { sourceChanged } from './read-source.js';
import { sentColumns } from './sent-columns.js';
import { type Refetch, withHealing } from './with-healing.js';

export type ChunkMergerNeeds = GiveUpNeeds &
  Pick<RunContext, 'source' | 'config' | 'files'> & {
    readonly checkpoint: Pick<Checkpoint, 'run' | 'parts' | 'recordJoin'>;
  };

export interface ChunkMerger {
  /** Chunks must come in the order of the source, none left out. */
  merge(chunk: ChunkRow): Promise<Enriched>;
  /** The rows of a chunk that has no answer, whatever its state. */
  giveUp(chunk: ChunkRow, cause: UnprocessedCause): Promise<Enriched>;
  /** The rows of the next records, of no chunk; undefined behind the last one. */
  giveUpNext(count: number, cause: UnprocessedCause): Promise<Enriched | undefined>;
}

/**
 * @param columns those that the service adds, in output order.
 * @param refetch fetches a chunk's parts anew; without it a damaged part or a failed proof is final.
 */
export function createChunkMerger(
  run: ChunkMergerNeeds,
  records: BlockReader,
  columns: readonly string[],
  refetch?: Refetch,
): ChunkMerger {
  const layout = createOutputLayout(run.source, run.config.output);
  const sent = sentColumns(run.config.upload);
  const sentNames = new Set([...sent.columns, ...(sent.key === null ? [] : [sent.key])]);
  const rows = createRowWriter({ run: run.id, layout, columns, sentColumns: sentNames });
  const sourceFields = new Map(
    Object.entries(run.config.upload.columns).map(([name, column]) => [
      name,
      fieldOf(run.source.columns, column, `upload.columns.${name}`),
    ]),
  );

  let fixed: JoinWay | null = null;
  const holdToJoinWay = async (way: JoinWay): Promise<void> => {
    // Read once: the run's row grows with the files of the source, and only this merger fixes the way.
    fixed ??= (await run.checkpoint.run(run.id))!.join;
    if (fixed !== null) return checkJoinWay(fixed, way);
    await run.checkpoint.recordJoin(run.id, way);
    fixed = way;
  };

  const mergeParts = async (chunk: ChunkRow, block: RecordBlock): Promise<Enriched> => {
    const tables = [];
    for (const part of await run.checkpoint.parts(run.id, chunk.number)) {
      tables.push(readPartTable(part, await run.files.readPart(chunk.number, part)));
    }
    for (const table of tables) {
      if (table.reference.fileStatus === 'FAILED' || table.count === 0) continue;
      checkAddedColumns(table, sent, columns, run.config.result.onChange);
    }
    const way = joinWayOf(tables, sent);
    await holdToJoinWay(way);
    const joined = joinResults(tables, way, block, sourceFields);
    return rows.enriched(block, joined, chunk.folio);
  };

  const takeBlock = async (chunk: ChunkRow): Promise<RecordBlock> => {
    const block = await records.take(chunk.records);
    checkBlock(run, chunk, block);
    return block;
  };

  return {
    giveUp: async (chunk, cause) => rows.unprocessed(await takeBlock(chunk), cause, chunk.folio),
    giveUpNext: async (count, cause) => {
      const block = await records.take(count);
      return block.count === 0 ? undefined : rows.unprocessed(block, cause, null);
    },
    merge: async (chunk) => {
      const block = await takeBlock(chunk);
      if (chunk.state === 'unprocessed') return rows.unprocessed(block, chunk.cause!, chunk.folio);
      const merged = await withHealing(run, chunk, refetch, () => mergeParts(chunk, block));
      return merged ?? rows.unprocessed(block, 'FOLIO_LOST', chunk.folio);
    },
  };
}

function checkBlock(run: Pick<RunContext, 'source'>, chunk: ChunkRow, block: RecordBlock): void {
  const same =
    block.count === chunk.records &&
    block.numbers[0] === chunk.firstRecord &&
    block.numbers[block.count - 1] === chunk.lastRecord;
  if (same) return;
  const file = run.source.files[chunk.start.file]!.path;
  throw sourceChanged(file, `chunk ${chunk.number} no longer holds the same records`);
}
