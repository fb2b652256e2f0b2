/**
 * Finds out which columns the service adds before the first row is written: from the config, from the
 * pipeline's earlier runs, or from the run's first chunk, in the source's order, that has a success; where none
 * has, from the rounds and searches of its failed records.
 */
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';
import { isAnswered } from './is-answered.js';
import { type LearnColumnsNeeds, learnColumns, learnLateColumns } from './learn-columns.js';
import { type Refetch, withHealing } from './with-healing.js';

export type ResultColumnsNeeds = LearnColumnsNeeds &
  Pick<RunContext, 'at'> & {
    readonly checkpoint: Pick<Checkpoint, 'run' | 'recordColumns' | 'knownColumns'>;
  };

export interface ResultColumns {
  /**
   * The columns once they are fixed, else undefined.
   * @param allSettled no chunk will come any more: without a success in the whole run there are none.
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
      fixed = row.columns ?? undefined;
      // None, because nothing had succeeded: what succeeds later brings them, while no row is written.
      if (fixed?.length === 0 && merged === 0) {
        const late = await learnLateColumns(run, row, refetch);
        if (late !== undefined) return fix(late.columns, late.learned);
      }
      if (fixed !== undefined) return fixed;
      const known = await run.checkpoint.knownColumns(row.pipeline, row.service);
      if (known !== undefined) return fix(known, false);
      for (;;) {
        const chunk = await run.checkpoint.nextChunk(run.id, 0, probed);
        if (chunk === undefined) return allSettled && row.chunks !== null ? fix([], false) : undefined;
        if (!isAnswered(chunk)) return undefined;
        if (chunk.state === 'downloaded' && chunk.counts!.successful > 0) {
          const learned = await withHealing(run, chunk, refetch, (parts) =>
            learnColumns(run, chunk.number, parts),
          );
          if (learned !== undefined) return fix(learned, true);
        }
        probed = chunk.lastRecord;
      }
    },
  };
}
