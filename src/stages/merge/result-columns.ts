/**
 * Finds out which columns the service adds before the first row is written: from the config, from the
 * pipeline's earlier runs, or from the run's first chunk, in the source's order, that has a success; where none
 * has, from the rounds and searches of its failed records.
 */
import type { Checkpoint, ChunkRow, Run } from '../../checkpoint/checkpoint.js';
import { eachSearch, isAnswered } from '../../checkpoint/walk-run.js';
import { addedColumns } from '../../results/added-columns.js';
import type { RunContext } from '../../run-context.js';
import type { Refetch } from '../download/with-healing.js';
import type { RecordsOfNeeds } from '../read-source.js';
import { type ChunkJoinerNeeds, createChunkJoiner, sentColumns } from './join-chunk.js';
import { blockOf } from './judge-arrived.js';

export type ResultColumnsNeeds = LearnColumnsNeeds &
  Pick<RunContext, 'at'> & {
    readonly checkpoint: Pick<Checkpoint, 'run' | 'recordColumns' | 'knownColumns'>;
  };

export interface ResultColumns {
  /**
   * The columns once they are fixed, else undefined.
   * @param allSettled no chunk will come any more: without a success in the whole run there are none, which is not
   *   written down.
   */
  settle(allSettled: boolean): Promise<readonly string[] | undefined>;
}

/**
 * @param merged the last record that is merged; before any row is written, what the config declares counts.
 * @param refetch fetches a chunk's parts anew; without it a damaged part is final.
 */
export function createResultColumns(
  run: ResultColumnsNeeds,
  merged: number,
  refetch?: Refetch,
): ResultColumns {
  let fixed: readonly string[] | undefined;
  let probed = merged;

  const fix = async (columns: readonly string[], learned: boolean) => {
    await run.checkpoint.recordColumns(run.id, columns, learned);
    run.at('after-columns-before-merge');
    fixed = columns;
    return columns;
  };

  return {
    settle: async (allSettled) => {
      if (fixed !== undefined) return fixed;
      const row = (await run.checkpoint.run(run.id))!;
      const declared = run.config.result.columns;
      if (declared.length > 0 && merged === 0) return fix(declared, false);
      // The first version wrote down that there are none where nothing had succeeded.
      if (row.columns !== null && row.columns.length > 0) {
        fixed = row.columns;
        return fixed;
      }
      const known = await run.checkpoint.knownColumns(row.pipeline, row.service);
      if (known !== undefined && merged === 0) return fix(known, false);
      for (;;) {
        const chunk = await run.checkpoint.nextChunk(run.id, 0, probed);
        if (chunk === undefined) break;
        if (!isAnswered(chunk)) return undefined;
        if (chunk.state === 'downloaded' && chunk.counts!.successful > 0) {
          const learned = await learnColumns(run, chunk, refetch);
          if (learned !== undefined) return fix(learned, true);
        }
        probed = chunk.lastRecord;
      }
      if (!allSettled || row.chunks === null) return undefined;
      const late = merged === 0 ? await learnLateColumns(run, row, refetch) : undefined;
      if (late !== undefined) return fix(late.columns, late.learned);
      // Nothing has succeeded: the rows have none, and what may succeed later is not held to that.
      return [];
    },
  };
}

/** Which columns the service adds, learned from what it has answered. */
type LearnColumnsNeeds = ChunkJoinerNeeds &
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
  return addedColumns(
    source.table,
    sentColumns(run.config.upload),
    run.join.method!.judged!.kinds.SUCCESSFUL,
  );
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
