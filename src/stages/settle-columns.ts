/**
 * Finds out which columns the service adds before the first row is written: from the config, from the
 * pipeline's earlier runs, or from the run's first chunk, in the source's order, that has a success.
 */
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { readPartTable } from '../results/part-table.js';
import { addedColumns } from '../results/result-columns.js';
import type { RunContext } from '../run-context.js';
import type { GiveUpNeeds } from './give-up-lost.js';
import { isAnswered } from './is-answered.js';
import { sentColumns } from './sent-columns.js';
import { type Refetch, withHealing } from './with-healing.js';

export type ResultColumnsNeeds = GiveUpNeeds &
  Pick<RunContext, 'config' | 'files' | 'at'> & {
    readonly checkpoint: Pick<Checkpoint, 'run' | 'nextChunk' | 'parts' | 'recordColumns' | 'knownColumns'>;
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
      if (fixed !== undefined) return fixed;
      const known = await run.checkpoint.knownColumns(row.pipeline, row.service);
      if (known !== undefined) return fix(known, false);
      for (;;) {
        const chunk = await run.checkpoint.nextChunk(run.id, 0, probed);
        if (chunk === undefined) return allSettled && row.chunks !== null ? fix([], false) : undefined;
        if (!isAnswered(chunk)) return undefined;
        if (chunk.state === 'downloaded' && chunk.counts!.successful > 0) {
          const learned = await withHealing(run, chunk, refetch, () => learnColumns(run, chunk.number));
          if (learned !== undefined) return fix(learned, true);
        }
        probed = chunk.lastRecord;
      }
    },
  };
}

/** The columns that the service has added in a downloaded chunk that has a success. */
export async function learnColumns(run: ResultColumnsNeeds, chunk: number): Promise<readonly string[]> {
  const parts = await run.checkpoint.parts(run.id, chunk);
  const part = parts.find(({ fileStatus, records }) => fileStatus === 'SUCCESSFUL' && records > 0)!;
  const table = readPartTable(part, await run.files.readPart(chunk, part));
  return addedColumns(table, sentColumns(run.config.upload));
}
