/** Joins one downloaded chunk: its parts off the disk to its records, proven (laws 1 and 8), in the run's one way. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { type Answers, answersOf } from '../results/answers.js';
import { joinResults } from '../results/join-results.js';
import { checkJoinWay, joinWayOf } from '../results/join-way.js';
import { fieldOf } from '../results/output-layout.js';
import { readPartTable } from '../results/part-table.js';
import type { RecordBlock } from '../results/record-block.js';
import { checkAddedColumns } from '../results/result-columns.js';
import type { RunContext } from '../run-context.js';
import type { JoinWay, StoredPart } from '../types.js';
import { sentColumns } from './sent-columns.js';
import { type HealingNeeds, type Refetch, withHealing } from './with-healing.js';

export type ChunkJoinerNeeds = HealingNeeds &
  Pick<RunContext, 'source' | 'config' | 'files'> & {
    readonly checkpoint: Pick<Checkpoint, 'recordJoin'>;
  };

export interface ChunkJoiner {
  /**
   * @param recordsFor gives the chunk's records; to join by key, their numbers are enough.
   * @returns undefined when a damaged part is to be fetched anew and the service has forgotten the folio.
   * @throws UntrustedError when the proof fails, also with the parts fetched anew.
   */
  join(chunk: ChunkRow, recordsFor: (way: JoinWay) => Promise<RecordBlock>): Promise<Answers | undefined>;
}

/**
 * @param fixed the run's way to join; null before the first chunk is joined, which fixes it.
 * @param columns those that the service adds.
 * @param refetch fetches a chunk's parts anew; without it a damaged part or a failed proof is final.
 */
export function createChunkJoiner(
  run: ChunkJoinerNeeds,
  fixed: JoinWay | null,
  columns: readonly string[],
  refetch?: Refetch,
): ChunkJoiner {
  const sent = sentColumns(run.config.upload);
  const sourceFields = new Map(
    Object.entries(run.config.upload.columns).map(([name, column]) => [
      name,
      fieldOf(run.source.columns, column, `upload.columns.${name}`),
    ]),
  );

  let runsWay = fixed;
  const holdToJoinWay = async (way: JoinWay): Promise<void> => {
    if (runsWay !== null) return checkJoinWay(runsWay, way);
    await run.checkpoint.recordJoin(run.id, way);
    runsWay = way;
  };

  const joinParts = async (
    chunk: ChunkRow,
    parts: readonly StoredPart[],
    recordsFor: (way: JoinWay) => Promise<RecordBlock>,
  ): Promise<Answers> => {
    const tables = [];
    for (const part of parts) {
      tables.push(readPartTable(part, await run.files.readPart(chunk.number, part)));
    }
    for (const table of tables) {
      if (table.reference.fileStatus === 'FAILED' || table.count === 0) continue;
      checkAddedColumns(table, sent, columns, run.config.result.onChange);
    }
    const way = joinWayOf(tables, sent);
    await holdToJoinWay(way);
    return answersOf(joinResults(tables, way, await recordsFor(way), sourceFields), chunk.folio);
  };

  return {
    join: (chunk, recordsFor) =>
      withHealing(run, chunk, refetch, (parts) => joinParts(chunk, parts, recordsFor)),
  };
}
