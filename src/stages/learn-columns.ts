/** Which columns the service adds, learned from what it has answered. */
import type { Checkpoint, ChunkRow, Run } from '../checkpoint/checkpoint.js';
import { eachSearch } from '../checkpoint/each-search.js';
import { addedColumns } from '../results/result-columns.js';
import { type ChunkJoinerNeeds, createChunkJoiner } from './join-chunk.js';
import { blockOf } from './judge-arrived.js';
import type { RecordsOfNeeds } from './records-of-chunk.js';
import { sentColumns } from './sent-columns.js';
import type { Refetch } from './with-healing.js';

export type LearnColumnsNeeds = ChunkJoinerNeeds &
  RecordsOfNeeds & { readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'searches'> };

/**
 * The columns that the service has added in a downloaded chunk that has a success. It is joined for that: only then is
 * it known in which of the sent columns the service answers.
 * @param refetch as `withHealing` takes it.
 * @returns undefined when a damaged part is to be fetched anew and the service has forgotten the folio.
 */
export async function learnColumns(
  run: LearnColumnsNeeds,
  chunk: ChunkRow,
  refetch?: Refetch,
): Promise<readonly string[] | undefined> {
  const answers = await createChunkJoiner(run, { refetch }).join(chunk, () => blockOf(run, chunk));
  const source = answers?.sources.find(
    ({ table }) => table.reference.fileStatus === 'SUCCESSFUL' && table.count > 0,
  );
  if (source === undefined) return undefined;
  return addedColumns(source.table, sentColumns(run.config.upload), run.join.way!.judged!.kinds.SUCCESSFUL);
}

/** What a run's later answers have added. */
export interface LateColumns {
  readonly columns: readonly string[];
  /** Whether they are the service's own; those of a search are only what the config takes from it. */
  readonly learned: boolean;
}

/**
 * Those of a run whose own chunks have no success: of the first settled round that has one, or of a search.
 * @param row of the run.
 * @param refetch as `withHealing` takes it.
 */
export async function learnLateColumns(
  run: LearnColumnsNeeds,
  row: Pick<Run, 'round'>,
  refetch?: Refetch,
): Promise<LateColumns | undefined> {
  for (let round = 1; round <= row.round; round++) {
    let chunk = await run.checkpoint.nextChunk(run.id, round, 0);
    for (; chunk !== undefined; chunk = await run.checkpoint.nextChunk(run.id, round, chunk.lastRecord)) {
      if (chunk.state !== 'downloaded' || chunk.counts!.successful === 0) continue;
      const learned = await learnColumns(run, chunk, refetch);
      if (learned !== undefined) return { columns: learned, learned: true };
    }
  }
  for await (const { values } of eachSearch(run.checkpoint, run.id)) {
    if (values !== null) return { columns: Object.keys(values), learned: false };
  }
  return undefined;
}
