/** Which columns the service adds, learned from what it has answered. */
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import { eachSearch } from '../checkpoint/each-search.js';
import { readPartTable } from '../results/part-table.js';
import { addedColumns } from '../results/result-columns.js';
import type { RunContext } from '../run-context.js';
import type { StoredPart } from '../types.js';
import { sentColumns } from './sent-columns.js';
import { type HealingNeeds, type Refetch, withHealing } from './with-healing.js';

export type LearnColumnsNeeds = HealingNeeds &
  Pick<RunContext, 'config' | 'files'> & {
    readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'searches'>;
  };

/** The columns that the service has added in a downloaded chunk that has a success. */
export async function learnColumns(
  run: Pick<LearnColumnsNeeds, 'config' | 'files'>,
  chunk: number,
  parts: readonly StoredPart[],
): Promise<readonly string[]> {
  const part = parts.find(({ fileStatus, records }) => fileStatus === 'SUCCESSFUL' && records > 0)!;
  const table = readPartTable(part, await run.files.readPart(chunk, part));
  return addedColumns(table, sentColumns(run.config.upload));
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
      const { number } = chunk;
      const learned = await withHealing(run, chunk, refetch, (parts) => learnColumns(run, number, parts));
      if (learned !== undefined) return { columns: learned, learned: true };
    }
  }
  for await (const { values } of eachSearch(run.checkpoint, run.id)) {
    if (values !== null) return { columns: Object.keys(values), learned: false };
  }
  return undefined;
}
